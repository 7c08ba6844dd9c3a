"""A hook may veto or add focus; anything else is reported and never delays the session."""

import asyncio
import json
import os
import time
from pathlib import Path

import pytest

from co_tui.events import HookRun
from co_tui.session.compaction.hooks import HookOutcome, Hooks
from co_tui.settings.hook_entries import HookEntry
from tests.support.waiting import PATIENCE_S, until

PAYLOAD = {"hook": "preCompact", "trigger": "manual", "session": {"id": "s1", "title": "Zoë"}}


def entries(*commands: str) -> list[HookEntry]:
    return [HookEntry(command) for command in commands]


async def run(folder: Path, *commands: str, timeout_s: float = 20.0, secrets: tuple[str, ...] = ()) -> HookOutcome:
    return await Hooks("preCompact", entries(*commands), folder, timeout_s, secrets).run(PAYLOAD)


def outcomes(outcome: HookOutcome) -> list[str]:
    return [each.outcome for each in outcome.runs]


def running(pid: int) -> bool:
    """Whether the process lives; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def gone(pid: int) -> bool:
    await until(lambda: not running(pid))
    return True


def listed(file: Path) -> list[int]:
    return [int(pid) for pid in file.read_text().split()] if file.exists() else []


async def pids(file: Path, count: int) -> list[int]:
    """The processes a hook wrote down."""
    await until(lambda: len(listed(file)) == count)
    return listed(file)


async def test_without_hooks_nothing_is_decided(tmp_path: Path) -> None:
    assert await run(tmp_path) == HookOutcome(False, "", "", ())


async def test_a_hook_gets_the_payload_and_runs_in_the_session_s_folder(tmp_path: Path) -> None:
    outcome = await run(tmp_path, "cat > given.json")
    assert json.loads((tmp_path / "given.json").read_text()) == {**PAYLOAD, "cwd": str(tmp_path)}
    run_ = HookRun(what="preCompact hook", where="cat > given.json", outcome="No objection.")
    assert outcome == HookOutcome(False, "", "", (run_,))


async def test_the_focus_of_several_hooks_is_joined_in_order(tmp_path: Path) -> None:
    first, second = '{"focus": "the tests"}', '{"focus": "open \\u001b[31mtasks", "other": 1}'
    outcome = await run(tmp_path, f"echo '{first}'", "true", f"echo '{second}'")
    assert outcome.focus == "the tests\nopen ␛[31mtasks"
    assert outcomes(outcome) == ["Added to the focus.", "No objection.", "Added to the focus."]
    assert not outcome.veto


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("""echo '{"decision": "veto", "reason": "a release is running"}'""", "a release is running"),
        ("""echo '{"decision": "veto", "reason": 7}'""", "No reason given."),
        ("echo not now >&2; echo more >&2; exit 2", "not now"),
        ("echo no JSON; exit 2", "No reason given."),
        ("""echo '{"continue": false, "stopReason": "later"}'""", "later"),
    ],
)
async def test_a_veto_ends_the_round(tmp_path: Path, command: str, reason: str) -> None:
    outcome = await run(tmp_path, "true", command, "touch later")
    assert (outcome.veto, outcome.reason) == (True, reason)
    assert outcomes(outcome) == ["No objection.", f"Vetoed: {reason}"]
    assert not (tmp_path / "later").exists()


async def test_a_hook_speaks_to_the_user_and_may_have_its_own_limit(tmp_path: Path) -> None:
    slow, says = HookEntry("sleep 600", timeout_s=0.1), HookEntry("""echo '{"systemMessage": "wait a bit"}'""")
    outcome = await Hooks("preCompact", [slow, says], tmp_path, 600.0).run(PAYLOAD)
    assert outcomes(outcome) == ["Timed out after 0.1 s.", "No objection."]
    assert [each.notice for each in outcome.runs] == ["", "wait a bit"]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("echo broken >&2; exit 3", "Failed with exit code 3: broken"),
        ("exit 1", "Failed with exit code 1."),
        ("kill -9 $$", "Failed with signal 9."),
        ("echo '{'", "Its output is not a JSON object and was ignored."),
        ("echo '[1]'", "Its output is not a JSON object and was ignored."),
        ("echo hello", "No objection."),
        ("printf '\\377'", "No objection."),
        ("head -c 50000 /dev/zero | tr '\\0' '['", "Its output is not a JSON object and was ignored."),
        ("head -c 3000000 /dev/zero | tr '\\0' x", "Its output is over 64 kB and was ignored."),
        ("echo nul\0l", "Cannot start it: embedded null byte."),
    ],
)
async def test_a_failing_hook_is_reported_and_passed_by(tmp_path: Path, command: str, told: str) -> None:
    outcome = await run(tmp_path, command, """echo '{"focus": "after"}'""")
    assert outcomes(outcome) == [told, "Added to the focus."]
    assert outcome.focus == "after"
    assert not outcome.veto


async def test_a_folder_that_is_gone_is_reported(tmp_path: Path) -> None:
    outcome = await run(tmp_path / "gone", "true")
    assert outcomes(outcome) == ["Cannot start it: No such file or directory."]


async def test_a_command_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    (told,) = outcomes(await run(tmp_path, "no-such-command-anywhere"))
    assert told.startswith("Failed with exit code 127: ")


async def test_a_hook_that_is_too_slow_is_stopped_with_all_its_children(tmp_path: Path) -> None:
    slow = "sleep 600 & echo $! $$ > pids; wait"
    running = run(tmp_path, slow, """echo '{"focus": "after"}'""", timeout_s=3.0)
    outcome = await asyncio.wait_for(running, PATIENCE_S)
    assert outcomes(outcome) == ["Timed out after 3 s.", "Added to the focus."]
    assert [await gone(pid) for pid in await pids(tmp_path / "pids", 2)] == [True, True]


async def test_a_hook_deaf_to_signals_is_stopped_too(tmp_path: Path) -> None:
    outcome = await run(tmp_path, "trap '' TERM INT HUP; echo $$ > pids; while :; do sleep 1; done", timeout_s=1.0)
    assert outcomes(outcome) == ["Timed out after 1 s."]
    assert [await gone(pid) for pid in await pids(tmp_path / "pids", 1)] == [True]


async def test_cancelling_kills_the_hook_and_its_children(tmp_path: Path) -> None:
    running = asyncio.create_task(run(tmp_path, "sleep 600 & echo $! $$ > pids; wait", "touch later"))
    found = await pids(tmp_path / "pids", 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, PATIENCE_S)
    assert [await gone(pid) for pid in found] == [True, True]
    assert not (tmp_path / "later").exists()


@pytest.mark.parametrize("steps", [2, 3, 4, 5, 6])
async def test_cancelling_while_it_starts_kills_its_children_too(tmp_path: Path, steps: int) -> None:
    running = asyncio.create_task(run(tmp_path, "sleep 600 & echo $! $$ > pids; wait"))
    for _ in range(steps):  # of the event loop, in which the start goes on
        await asyncio.sleep(0)
    time.sleep(0.2)  # noqa: ASYNC251 - the loop stands still, the hook does not
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, PATIENCE_S)
    assert all([await gone(pid) for pid in listed(tmp_path / "pids")])


async def test_children_that_keep_the_output_open_are_not_waited_for(tmp_path: Path) -> None:
    running = run(tmp_path, """sleep 600 & echo $! > pids; echo '{"focus": "done"}'""", timeout_s=600)
    outcome = await asyncio.wait_for(running, PATIENCE_S)
    assert outcome.focus == "done"
    (left,) = await pids(tmp_path / "pids", 1)
    os.kill(left, 9)


@pytest.mark.parametrize("command", ["exec <&-; sleep 0.2", "true", "head -c 1 > first"])
async def test_a_hook_need_not_read_what_it_is_given(tmp_path: Path, command: str) -> None:
    large = {"text": "x" * 2_000_000}
    outcome = await Hooks("preCompact", entries(command), tmp_path, 20).run(large)
    assert outcomes(outcome) == ["No objection."]


async def test_no_secret_and_no_control_character_is_reported(tmp_path: Path) -> None:
    command = r"""printf 'hunter22 \033[31m sk-abcdef1234567890\n' >&2; : hunter22; exit 2"""
    outcome = await run(tmp_path, command, secrets=("hunter22",))
    assert outcome.reason == "[hidden] ␛[31m [hidden]"
    assert "hunter22" not in repr(outcome)


async def test_a_noisy_hook_is_heard_to_its_end(tmp_path: Path) -> None:
    noisy = "head -c 5000000 /dev/zero | tr '\\0' x >&2; touch done; echo '{\"focus\": \"ok\"}'"
    outcome = await run(tmp_path, noisy)
    assert (tmp_path / "done").exists()
    assert outcome.focus == "ok"


async def test_a_hook_gets_the_environment_without_its_keys(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "CO_TUI_HOME": "/x", "OPENAI_API_KEY": "abcdef", "MY_TOKEN": "abcdef"}
    hooks = Hooks("preCompact", entries("env > given"), tmp_path, 20, environ=environ, variables={"STAGE": "test"})
    outcome = await hooks.run(PAYLOAD)
    assert outcomes(outcome) == ["No objection."]
    given = (tmp_path / "given").read_text()
    assert "CO_TUI_HOME=/x" in given and "STAGE=test" in given and "abcdef" not in given
