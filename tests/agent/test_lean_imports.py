"""What the libraries of providers and MCP servers load with the engine and later, found out in one new process."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from co_tui.agent.lean_imports import without_unused_parts
from co_tui.agent.models import open_model
from co_tui.agent.models.model_handle import ModelConfig
from co_tui.agent.wire.model_errors import ModelUnusable
from tests.support.provider import Provider, Reply
from tests.support.waiting import PATIENCE_S

MOST_TYPES: Final = 90
"""Modules of types that a chat with an OpenAI-compatible server loads; the library has more than 700."""
ENGINE: Final = """
import asyncio, gc, json, logging, mimetypes, os, sys
gc.disable()  # a fifth of the time
mimetypes.knownfiles = [sys.argv[2]]
from co_tui.agent.lean_imports import LATE_MODULES, without_unused_parts
with without_unused_parts():
    import co_tui.headless.run_command
    found = {"engine": list(sys.modules)}
    import co_tui.agent.wire.compatible
found["loaded"] = list(sys.modules)
from pydantic_ai import Agent
from co_tui.agent.models.model_handle import connect_compatible

async def chat(url):
    connected = connect_compatible("scripted", url, "none")
    async with Agent(connected.model).run_stream("hi") as reply:
        found["said"] = await reply.get_output()
    await connected.close()

asyncio.run(chat(sys.argv[1]))
found["loaded by a chat"] = list(sys.modules)
found["early"] = sorted({*LATE_MODULES} & {*sys.modules})
import griffe, pydantic_ai, pydantic_ai.models.openai as models
from pydantic_ai_harness.planning._toolset import BaseDurabilityCapability as late
with without_unused_parts():
    import unittest.mock
    from unittest.mock import MagicMock
    from xml.etree.ElementTree import ParseError, fromstring
    with without_unused_parts():
        found["instance before"] = isinstance(3, late)
        class Mine(late): in_durable_context = get_durable_operation_backend = None
        class OfInt(late[int]): ...
found["bases"] = Mine.__mro__[1].__name__, OfInt.__mro__[1].__name__, issubclass(Mine, late), issubclass(int, late)
found["instances"] = isinstance(object.__new__(Mine), late), isinstance(3, late)
found["unions"] = late | None == Mine.__mro__[1] | None, None | late == None | Mine.__mro__[1]
exported = pydantic_ai.EmbeddingModel
import pydantic_ai.embeddings
found["exported itself"] = exported is pydantic_ai.embeddings.EmbeddingModel and len(griffe.builtin_decorators)
try:
    fromstring("<")
except ParseError:
    found["caught"] = True
found["called"] = models.ResponseCompactionItemParamParam(type="compaction", encrypted_content="…")
found["module"] = pydantic_ai.format_as_xml({"a": 1}, root_tag="b")
found["mock"] = type(MagicMock()).__name__, unittest.mock.__name__
one, other = without_unused_parts(), without_unused_parts()
one.__enter__(), other.__enter__(), one.__exit__(None, None, None), other.__exit__(None, None, None)
found["type of file"] = mimetypes.guess_type("a.listed"), mimetypes.knownfiles == [sys.argv[2]]
import aiohttp, httpx
import openai.types, openai.types.chat, openai.types.responses
packages = (openai.types, openai.types.chat, openai.types.responses)
found["exported"] = min(len(package.__all__) for package in packages)
found["missing"] = [name for package in packages for name in package.__all__ if not hasattr(package, name)]
found["unknown"] = hasattr(openai.types, "Unknown")
from openai.types.chat import *
found["starred"] = ChatCompletion.__name__
found["submodule"] = openai.types.responses.response_output_text.__name__
client = co_tui.agent.wire.compatible.OpenAIClient(api_key="none")
found["responses"] = type(client.responses).__name__
from co_tui.agent.mcp.servers import load_connection
found["servers"], before = "fastmcp" in sys.modules, dict(os.environ)
load_connection()
found["variables"] = dict(os.environ) == before
logging.getLogger("fastmcp.client").error("to programmers")
logging.getLogger("mcp.client.stdio").error("to programmers")
print(json.dumps(found))
gc.freeze()
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("project")
    types = folder / "mime.types"
    types.write_text("application/listed listed\n")
    (folder / ".env").write_text("FASTMCP_LOG_LEVEL=what no library takes\n")
    with Provider().serving() as provider:
        command = [sys.executable, "-c", ENGINE, provider.url, str(types)]
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout) | {"errors": process.stderr}


def test_the_engine_knows_no_screen_and_loads_no_provider_and_nothing_of_mcp_before_one_is_chosen(found: Any) -> None:
    """Nor do the session and the command that runs it without a screen."""
    assert "co_tui.session.session" in found["engine"]
    later = {"textual", "openai", "anthropic", "google", "xllamacpp", "mcp", "mcp_types", "fastmcp"}
    assert later.isdisjoint(found["engine"])


def test_libraries_of_mcp_read_no_environment_file_of_the_folder_and_log_nothing_to_the_terminal(found: Any) -> None:
    assert not found["servers"], "they are loaded with the first server"
    assert found["variables"] and not found["errors"]


def test_packages_that_nothing_uses_are_not_loaded_with_the_engine_and_can_be_later(found: Any) -> None:
    assert not {"aiohttp", "httpx"} & {*found["loaded"]}


def test_types_and_resources_of_other_apis_are_not_loaded_with_the_engine(found: Any) -> None:
    assert len([name for name in found["loaded"] if name.startswith("openai.types.")]) <= MOST_TYPES
    assert "openai.resources.responses.responses" not in found["loaded"]


def test_every_type_is_there_when_it_is_used(found: Any) -> None:
    assert (found["exported"] > 40, found["missing"], found["unknown"]) == (True, [], False)
    assert (found["starred"], found["submodule"]) == ("ChatCompletion", "openai.types.responses.response_output_text")


def test_the_responses_api_is_loaded_when_it_is_used(found: Any) -> None:
    assert found["responses"] == "PlainResponses"


def test_modules_that_a_chat_hardly_needs_are_loaded_when_they_are_used(found: Any) -> None:
    assert found["early"] == []
    assert found["called"] == {"type": "compaction", "encrypted_content": "…"}
    assert "".join(found["module"].split()) == "<b><a>1</a></b>"
    assert found["mock"] == ["MagicMock", "unittest.mock"]


def test_a_class_that_is_not_yet_loaded_can_be_used_as_any_class(found: Any) -> None:
    assert (found["instance before"], found["instances"], found["unions"]) == (False, [True, False], [True, True])
    assert found["bases"] == ["BaseDurabilityCapability", "BaseDurabilityCapability", True, False]


def test_what_a_package_exports_and_what_is_caught_is_the_class_itself(found: Any) -> None:
    assert found["exported itself"] and found["caught"]


def test_files_have_the_types_of_the_systems_list_also_after_two_imports_at_the_same_time(found: Any) -> None:
    assert found["type of file"] == [["application/listed", None], True]


def test_a_chat_loads_no_replies_of_the_responses_api(found: Any) -> None:
    assert found["said"].strip() == Reply().text
    assert "openai.types.responses.response" not in found["loaded by a chat"]


@pytest.mark.parametrize("prefix", ["groq", "mistral"])
async def test_a_library_that_needs_a_package_unused_by_the_others_can_import_it(
    prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "httpx", raising=False)
    monkeypatch.setattr(open_model, "_OPTIONAL_PACKAGES", {prefix: "json"})
    hidden = []

    def library(*_: object) -> None:
        hidden.append("httpx" in sys.modules)
        raise ValueError

    monkeypatch.setattr(open_model, "infer_model", library)
    monkeypatch.setattr(importlib, "import_module", library)
    config = ModelConfig(environ={f"{prefix.upper()}_API_KEY": "key"}, fetched_models=tmp_path)
    with pytest.raises(ModelUnusable):
        await open_model.open_model(f"{prefix}:some", config)
    with pytest.raises(ValueError):
        open_model.preload(f"{prefix}:some")
    assert hidden == [False, False]


def test_a_package_that_another_thread_has_made_importable_again_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("aiohttp", "httpx"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with without_unused_parts():
        del sys.modules["aiohttp"]
        sys.modules["httpx"] = pytest
    assert sys.modules.pop("httpx") is pytest
    assert "aiohttp" not in sys.modules
