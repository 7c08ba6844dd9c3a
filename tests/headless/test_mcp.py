"""MCP servers on the command line: used by `run`, reported by `doctor`, ended with the process."""

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from co_tui.agent.mcp import servers
from co_tui.session.approvals.questions import NOT_APPROVED
from tests.support.command import CliCommand
from tests.support.here import Here
from tests.support.mcp_talk import ODD, lives
from tests.support.provider import Provider, Reply
from tests.support.waiting import PATIENCE_S, wait_until


def call(tool: str, **arguments: Any) -> Reply:
    return Reply(text="", tool=(tool, json.dumps(arguments)))


def server(*arguments: str, start_timeout_s: float = PATIENCE_S) -> str:
    program = f"command = {json.dumps(sys.executable)}\nargs = {json.dumps([str(ODD), *arguments])}\n"
    return f"[mcp_servers.odd]\n{program}start_timeout_s = {start_timeout_s}\n"


@pytest.fixture
def config(home: Path, provider: Provider) -> Path:
    provider.window = 60_000
    provider.script = [call("mcp__odd__echo", word="hi")]
    file = home / "config" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(server())
    return file


def told(provider: Provider) -> list[str]:
    return [message["content"] for message in provider.requests[-1]["messages"] if message["role"] == "tool"]


def test_yes_allows_and_silence_does_not(config: Path, served_here: Here, provider: Provider) -> None:
    done = served_here("run", "-p", "echo", "--yes")
    assert done.code == 0 and "odd echo hi" in done.err
    assert told(provider) == ['echo \x1b[2J{"word": "hi"}'] and "\x1b" not in done.out + done.err
    (echo,) = [
        tool["function"] for tool in provider.requests[0]["tools"] if tool["function"]["name"] == "mcp__odd__echo"
    ]
    assert echo["parameters"]["type"] == "object" and "anyOf" not in echo["parameters"]
    provider.script = [call("mcp__odd__echo", word="hi")]
    assert served_here("run", "-p", "echo").code == 1 and told(provider) == [NOT_APPROVED]


def test_read_only_offers_none_and_starts_none(config: Path, served_here: Here, provider: Provider) -> None:
    provider.script = []
    config.write_text('[mcp_servers.odd]\ncommand = "no-such-program"\n')
    done = served_here("run", "-p", "look", "--read-only")
    offered = [tool["function"]["name"] for tool in provider.requests[0]["tools"]]
    assert done.code == 0 and "read_file" in offered and not [name for name in offered if name.startswith("mcp__")]
    assert "MCP" not in done.err


def test_run_waits_for_a_server_as_long_as_it_may_take_to_start(
    config: Path, served_here: Here, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "START_WAIT_S", 0.0)  # the app's, which asks without the tools sooner
    done = served_here("run", "-p", "echo", "--yes")
    assert done.code == 0 and "missing" not in done.err
    assert "mcp__odd__echo" in [tool["function"]["name"] for tool in provider.requests[0]["tools"]]


def test_run_says_which_server_did_not_start_and_continues_without_it(
    config: Path, served_here: Here, provider: Provider
) -> None:
    provider.script = []
    config.write_text(server("silent", start_timeout_s=0.5))
    done = served_here("run", "-p", "hello")
    assert done.code == 0 and len(provider.requests) == 1
    assert done.err.count("MCP server odd failed: no answer within 0.5 s") == 1
    assert "odd no tools" in done.err


def test_doctor_reports_the_state_of_each(config: Path, served_here: Here, folder: Path) -> None:
    config.write_text(
        server() + '[mcp_servers.gone]\ncommand = "no-such-program"\n[mcp_servers.off]\nenabled = false\n'
    )
    (folder / ".co-tui.toml").write_text('[mcp_servers.theirs]\ncommand = "run-me"\n')
    done = served_here("doctor")
    assert done.code == 0
    rows = [line.split(maxsplit=3) for line in done.out.splitlines() if line.startswith("MCP server")]
    states = {row[2]: row[3] for row in rows}
    assert states["odd"].startswith("running, 8 tools · ")
    assert states["gone"].startswith("failed: cannot use no-such-program: no such file or directory · ")
    assert states["off"].startswith("off · ") and states["theirs"] == "not trusted: trust this folder to start it"


def test_prompts_of_a_server_are_commands_and_others_are_not(
    config: Path, served_here: Here, provider: Provider
) -> None:
    provider.script = []
    unknown = served_here("run", "-p", "/mcp__odd__no-such-prompt")
    assert (unknown.code, unknown.err) == (2, "co-tui: Not sent: MCP server odd has no such prompt.\n")
    assert "running" in served_here("run", "-p", "/mcp").out
    assert "not started yet" in served_here("run", "-p", "/mcp", "--read-only").out
    assert provider.requests == []


def test_config_shows_what_is_set_without_keys(config: Path, served_here: Here) -> None:
    config.write_text('[mcp_servers.docs]\nurl = "https://docs.example/mcp"\nheaders = { Authorization = "sk-1" }\n')
    done = served_here("config", "mcp_servers")
    assert done.code == 0 and '{"docs": "https://docs.example/mcp"}' in done.out and "sk-1" not in done.out


def test_a_bad_server_is_wrong_usage_and_named(config: Path, served_here: Here) -> None:
    config.write_text('[mcp_servers.odd]\ncommand = "x"\nargs = "y"\n')
    done = served_here("run", "-p", "hello")
    assert done.code == 2 and f"mcp_servers.odd.args = [hidden] ({config}) is not allowed" in done.err


def test_a_signal_ends_the_server_and_all_it_started(
    config: Path, served: CliCommand, provider: Provider, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    config.write_text(server("stubborn", str(pid_file)))
    provider.script = [call("mcp__odd__hang")]
    process = served.start_loaded("run", "-p", "hang", "--yes")
    wait_until(pid_file.with_suffix(".called").exists)
    child = int(pid_file.read_text())
    process.send_signal(signal.SIGTERM)
    _, words = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130 and "Traceback" not in words, words
    wait_until(lambda: not lives(child))
