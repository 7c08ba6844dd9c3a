"""A file of weights on this machine answers, without any server."""

import asyncio
import os
from pathlib import Path

import pytest
from pydantic_ai import Agent

from co_tui.agent.embedded import find_runtime, find_weights
from co_tui.agent.errors import ModelUnusable
from co_tui.agent.local_models import LocalModel
from co_tui.agent.models import ModelConfig, check_model, open_model
from co_tui.agent.wire import NoAnswer, ask
from co_tui.settings import SettingsError, check

WEIGHTS = find_weights(Path())
needs_weights = pytest.mark.skipif(WEIGHTS is None or not find_runtime(Path()), reason="no weights are installed")
pytestmark = pytest.mark.xdist_group("embedded")


def config(tmp_path: Path, context_window: int = 0) -> ModelConfig:
    return ModelConfig(environ=dict(os.environ), fetched_models=tmp_path, context_window=context_window)


@needs_weights
async def test_a_file_is_served_by_a_process_of_its_own_with_its_own_window(tmp_path: Path) -> None:
    link = tmp_path / "any name.gguf"
    link.symlink_to(str(WEIGHTS))
    model = await open_model(f"gguf:{link}", config(tmp_path))
    assert isinstance(model, LocalModel) and model.name == f"gguf:{WEIGHTS}", "found again from any folder"
    try:
        assert await model.window_tokens() == 8192, "as the file says"
        assert not model.takes_tools, "its chat template has no place for them"
        said = await Agent(await model.model(), model_settings={**model.settings, "max_tokens": 8}).run("Say yes.")
        assert said.output.strip()
        assert await model.count_tokens("a few words") == 3
        address = await model.server.address(model.find_weights())
        with pytest.raises(NoAnswer, match="401"):  # nobody else on this machine gets in
            await ask(f"{address}/props", "", timeout_s=5)
        with pytest.raises(NoAnswer):  # nor reads there what was said
            await ask(f"{address}/slots", model.server.key, timeout_s=5)
        process = model.server._process
        assert process is not None
    finally:
        await model.close()
    assert process.returncode is not None, "the process ends with the model"


@needs_weights
async def test_the_setting_caps_the_window_and_two_sessions_have_two_processes(tmp_path: Path) -> None:
    first, second = [await open_model(f"gguf:{WEIGHTS}", config(tmp_path, tokens)) for tokens in (1024, 2048)]
    assert isinstance(first, LocalModel) and isinstance(second, LocalModel)
    try:
        assert await asyncio.gather(first.window_tokens(), second.window_tokens()) == [1024, 2048]
        assert first.server.key != second.server.key
        assert first.server._process is not None and second.server._process is not None
        assert first.server._process.pid != second.server._process.pid
    finally:
        await first.close()
        await second.close()


def a_file(folder: Path, content: bytes, mode: int = 0o600) -> Path:
    file = folder / "weights.gguf"
    file.write_bytes(content)
    file.chmod(mode)
    return file


async def test_a_file_that_cannot_be_weights_is_named_with_why(tmp_path: Path) -> None:
    cases = {
        str(tmp_path / "missing.gguf"): "There is no file",
        str(tmp_path): "is a folder",
        str(a_file(tmp_path, b"PK\x03\x04")): "is no GGUF file",
        f"{tmp_path}/a\0b": "cannot be read",
        "": "needs the path of a file",
    }
    for path, sentence in cases.items():
        for look in (open_model, check_model):
            with pytest.raises(ModelUnusable, match=sentence):
                await look(f"gguf:{path}", config(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
async def test_a_file_of_somebody_else_is_named_with_why(tmp_path: Path) -> None:
    with pytest.raises(ModelUnusable, match="cannot be read: Permission denied"):
        await open_model(f"gguf:{a_file(tmp_path, b'GGUF', 0)}", config(tmp_path))


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
