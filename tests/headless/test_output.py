"""What is printed arrives or is missed, and steers no terminal."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from co_tui import cli
from co_tui.events import ApprovalDecided, ApprovalRequested, Event
from co_tui.events.facts.agents import UNATTENDED
from co_tui.headless.run_command import ProsePrinter
from tests.support.command import CliCommand
from tests.support.here import Here
from tests.support.provider import Provider, Reply
from tests.support.talks import talk, talking
from tests.support.waiting import PATIENCE_S

STEERING = "C1 \x9b31m, bidi \u202e, hidden \u200b\u2028\u061c and \U000e0041."


@pytest.fixture
def session(home: Path, provider: Provider) -> str:
    """A stored session whose texts hold what a terminal must not see."""
    provider.default = Reply(text=STEERING)

    async def converse() -> str:
        async with talking(home, provider) as talked:
            await talk(talked, 1)
            return talked.id

    return asyncio.run(converse())


def test_nothing_that_is_printed_steers_the_terminal(here: Here, session: str) -> None:
    for arguments in (["show", session], ["sessions"], ["sessions", "--json"], ["context", session], ["lab", session]):
        out = here(*arguments).out
        assert out and not set(out) & set("\x9b\u202e\u200b\u2028\u061c\U000e0041"), arguments
    for view in ("--transcript", "--history"):
        done = here("show", session, view, "--json")
        assert not set(done.out) & set("\x9b\u202e\u200b\u2028\u061c\U000e0041")
        assert done.objects[-1]["message"]["parts"][0]["content"].rstrip(" ") == STEERING


def test_events_are_printed_inert_and_with_the_same_value(served_here: Here, provider: Provider) -> None:
    provider.default = Reply(text=STEERING)
    done = served_here("run", "-p", "x", "--json")
    assert not set(done.out) & set("\x9b\u202e\u200b\u2028\u061c\U000e0041")
    reply = next(event for event in done.objects if event["payload"].get("message", {}).get("kind") == "response")
    assert reply["payload"]["message"]["parts"][0]["content"].rstrip(" ") == STEERING


def test_a_call_that_was_denied_is_printed_with_who_denied_it() -> None:
    """Only what no one could answer is a matter of --yes."""
    printer = ProsePrinter()
    for by, reason, why in ((UNATTENDED, "", "needs approval; use --yes"), ("the user", "Not today.", "Not today")):
        asked = ApprovalRequested(call_id="c", tool="run_command", arguments={"command": "ls"})
        denied = ApprovalDecided(call_id="c", approved=False, by=by, reason=reason)
        (piece,) = (
            piece
            for fact in (asked, denied)
            for piece in printer.show(Event(session_id="s", seq=1, timestamp="2026-11-16T10:00:00+00:00", fact=fact))
        )
        assert piece.text.endswith(f" ls ({why})\n") and not piece.data


ALL = [
    ["sessions"],
    ["sessions", "--json"],
    ["show", "{}"],
    ["show", "{}", "--json"],
    ["context", "{}"],
    ["context", "{}", "--json"],
    ["config"],
    ["config", "theme"],
    ["doctor"],
    ["lab", "{}"],
    ["lab", "{}", "--json"],
    ["--help"],
    ["--version"],
    ["run", "--help"],
]


def test_an_output_that_does_not_arrive_is_a_failure(
    here: Here, session: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in ALL:
        with open("/dev/full", "w", encoding="utf-8") as full:
            monkeypatch.setattr(sys, "stdout", full)
            capsys.readouterr()
            code = cli.run([argument.format(session) for argument in arguments])
        said = capsys.readouterr().err
        assert code == 1 and "Cannot write output: No space left on device." in said, (arguments, said)


def test_a_run_whose_output_does_not_arrive_is_a_failure(served: CliCommand) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        process = served.start_loaded("run", "-p", "x", "--json", stdout=full)
        _, words = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1 and words == "co-tui: Cannot write output: No space left on device.\n"


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("run <&-", 2, "The prompt is empty"),
        ("run <&- >&-", 2, "The prompt is empty"),
        ("config >&-", 1, "Cannot write output"),
        ("sessions 2>&-", 0, ""),
        ("nonsense 2>/dev/full", 2, ""),
        ("nonsense 2>&- >&- <&-", 2, ""),
        ("--version >/dev/full", 1, "Cannot write output"),
    ],
)
def test_streams_that_are_closed_or_full(co_tui: CliCommand, command: str, code: int, words: str) -> None:
    shell = f"{sys.executable} -m co_tui {command}"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, env=co_tui.environ, cwd=co_tui.cwd)
    assert done.returncode == code and words in done.stderr and "Traceback" not in done.stderr


def test_the_database_never_takes_the_place_of_a_closed_stream(served: CliCommand, here: Here) -> None:
    process = served.start_loaded("run", "-p", "hello", closed=["stdin", "stdout", "stderr"])
    process.communicate(PATIENCE_S)
    assert process.returncode == 1
    assert "ok," in here("doctor").out
