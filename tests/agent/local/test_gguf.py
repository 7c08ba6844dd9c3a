"""A file of weights on this machine answers, without any server."""

import asyncio
import errno
import os
from pathlib import Path

import pytest
from pydantic_ai import Agent

from co_tui.agent.local.embedded import find_runtime, find_weights
from co_tui.agent.local.local_models import LocalModel
from co_tui.agent.models.open_model import ModelConfig, check_model, open_model
from co_tui.agent.wire.http import NoAnswer, ask
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.settings import SettingsError, check
from tests.support.long_run import only_in_a_long_run

WEIGHTS = find_weights(Path())
needs_weights = pytest.mark.skipif(WEIGHTS is None or not find_runtime(Path()), reason="no weights are installed")


def config(tmp_path: Path, context_window: int = 0) -> ModelConfig:
    return ModelConfig(environ=dict(os.environ), fetched_models=tmp_path, context_window=context_window)


@needs_weights
async def test_each_session_has_a_process_of_its_own_with_the_window_of_the_file(tmp_path: Path) -> None:
    link = tmp_path / "any name.gguf"
    link.symlink_to(str(WEIGHTS))
    model = await open_model(f"gguf:{link}", config(tmp_path))
    capped = await open_model(f"gguf:{link}", config(tmp_path, 1024))
    assert isinstance(model, LocalModel) and isinstance(capped, LocalModel)
    assert model.name == f"gguf:{WEIGHTS}", "found again from any folder"
    try:
        assert await asyncio.gather(model.window_tokens(), capped.window_tokens()) == [8192, 1024]
        assert not model.takes_tools, "its chat template has no place for them"
        assert await model.count_tokens("a few words") == 3
        address = await model.server.address(model.find_weights())
        for key in ("", capped.server.key):  # other users of this machine get no access
            with pytest.raises(NoAnswer, match="401"):
                await ask(f"{address}/props", key, timeout_s=5)
        with pytest.raises(NoAnswer):  # nor reads there what was said
            await ask(f"{address}/slots", model.server.key, timeout_s=5)
        processes = [model.server._process, capped.server._process]
    finally:
        await model.close()
        await capped.close()
    assert all(process and process.returncode is not None for process in processes), "they end with their models"


TEMPLATE_WITH_TOOLS = """\
{% for tool in tools or [] %}{{ tool | tojson }}
{% endfor %}{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content or "" }}{% for call in message.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def with_template(template: str) -> bytes:
    """The weights with another chat template, as long as keeps everything behind it in its place of 32 bytes."""
    data, key = Path(str(WEIGHTS)).read_bytes(), b"tokenizer.chat_template"
    start = data.index(key) + len(key) + 4
    end = start + 8 + int.from_bytes(data[start : start + 8], "little")
    missing = (end - start - 8 - len(template.encode()) - 4) % 32
    text = template.encode() + b"{#" + b" " * missing + b"#}"
    return data[:start] + len(text).to_bytes(8, "little") + text + data[end:]


@only_in_a_long_run
@needs_weights
async def test_tools_are_offered_when_the_files_own_template_has_a_place_for_them(tmp_path: Path) -> None:
    model = await open_model(f"gguf:{a_file(tmp_path, with_template(TEMPLATE_WITH_TOOLS))}", config(tmp_path))
    try:
        connected = await model.model()
        assert model.takes_tools
        agent = Agent(connected, model_settings={**model.settings, "max_tokens": 2}, tools=[look])
        assert (await agent.run("Say yes.")).output.strip(), "a request with tools is taken"
    finally:
        await model.close()


def look() -> str:
    return "seen"


def a_file(folder: Path, content: bytes, mode: int = 0o600) -> Path:
    file = folder / "weights.gguf"
    file.write_bytes(content)
    file.chmod(mode)
    return file


async def test_a_file_that_cannot_be_weights_is_named_with_why(tmp_path: Path) -> None:
    cases = {
        str(tmp_path / "missing.gguf"): "No file",
        str(tmp_path): "is a folder",
        str(a_file(tmp_path, b"PK\x03\x04")): "is not a GGUF file",
        f"{tmp_path}/a\0b": "Cannot read",
        "": "needs a file path",
    }
    for path, sentence in cases.items():
        for look in (open_model, check_model):
            with pytest.raises(ModelUnusable, match=sentence):
                await look(f"gguf:{path}", config(tmp_path))


async def test_an_unreadable_file_is_reported_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = a_file(tmp_path, b"GGUF")

    def closed(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", closed)  # nothing is closed to root, who may run this
    with pytest.raises(ModelUnusable, match="Permission denied"):
        await open_model(f"gguf:{file}", config(tmp_path))


@needs_weights
async def test_a_file_that_only_begins_as_weights_does_not_start(tmp_path: Path) -> None:
    model = await open_model(f"gguf:{a_file(tmp_path, b'GGUF and then nothing of it')}", config(tmp_path))
    with pytest.raises(ModelUnusable, match=r"weights\.gguf did not start from .*may be damaged"):
        await model.model()
    await model.close()


def test_it_is_a_setting_like_any_other_model() -> None:
    assert check("model", "gguf:~/weights.gguf") == "gguf:~/weights.gguf"
    with pytest.raises(SettingsError, match="gguf:PATH"):
        check("model", "gguf:")
