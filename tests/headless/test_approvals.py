"""What tools may do without anybody to ask: what the command line says."""

import json
from functools import partial
from pathlib import Path

import pytest
from pydantic_ai.toolsets import FunctionToolset

from co_tui import cli
from co_tui.headless import open_session
from co_tui.session.approvals.questions import NOT_APPROVED, READ_ONLY
from tests.support.command import CliCommand
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import Provider, Reply


@pytest.mark.parametrize(
    ("flags", "ran", "told"),
    also_in_a_long_run(
        [(["--read-only"], False, READ_ONLY)], [(["--yes"], True, "wrote a"), ([], False, NOT_APPROVED)]
    ),
)
def test_the_flags_decide_and_the_model_is_told(
    home: Path,
    provider: Provider,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    flags: list[str],
    ran: bool,
    told: str,
) -> None:
    written: list[str] = []

    def write(path: str) -> str:
        written.append(path)
        return f"wrote {path}"

    tools = {"toolsets": [FunctionToolset([write])], "asks_first": lambda tool, arguments: tool == "write"}
    monkeypatch.setattr(open_session, "Environment", partial(open_session.Environment, **tools))
    for name, value in {
        "CO_TUI_HOME": str(home),
        "CO_TUI_MODEL": "openai-chat:scripted",
        "CO_TUI_DEBUG": "1",
        "OPENAI_BASE_URL": provider.url,
        "OPENAI_API_KEY": "sk-test",
    }.items():
        monkeypatch.setenv(name, value)
    provider.script = [Reply(text="", tool=("write", '{"path": "a"}'))]
    code = 0 if flags else 1
    assert cli.run(["run", "-p", "go", "--json", *flags]) == code
    assert bool(written) is ran
    assert provider.requests[-1]["messages"][-1]["content"] == told
    events = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    asked, decided = (event["payload"] for event in events if event["type"].startswith("approval."))
    assert (asked["tool"], asked["arguments"], asked["call_id"]) == ("write", {"path": "a"}, decided["call_id"])
    assert (decided["approved"], decided["by"]) == (ran, flags[0] if flags else "nobody")
    provider.script = [Reply(text="", tool=("write", '{"path": "a"}'))]
    assert cli.run(["run", "-p", "go", *flags]) == code
    said = capfd.readouterr().err
    assert ran or "Denied: write a (" in said, "a person reads what was refused"
    assert bool(flags) or "--yes" in said, "and what would allow it"
    assert ("co-tui: 1 call denied: this run cannot ask for approval." in said) is not bool(flags)


def test_one_cannot_allow_everything_and_nothing(co_tui: CliCommand) -> None:
    done = co_tui("run", "-p", "go", "--yes", "--read-only")
    assert done.code == 2 and "not allowed with argument --yes" in done.err
