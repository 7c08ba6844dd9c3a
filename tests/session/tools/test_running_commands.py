"""Commands while they run: what they say is told as it comes, and they end with the session, however it ends."""

import asyncio
import errno
import json
import os
import signal
import stat
import subprocess
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import anyio
import pytest
from anyio.abc import Process

from co_tui.events import BackgroundNews, ToolOutput
from co_tui.events.stored_messages import note_source
from co_tui.paths import locate
from co_tui.session.approvals.questions import Unattended
from co_tui.session.processes.process_guard import ProcessGuard
from co_tui.session.session import Session
from co_tui.session.tools import movable_command
from co_tui.session.tools.command_watch import PIECE_BYTES, CommandNews, WaitedText
from co_tui.session.tools.kept_output import KeptStream
from co_tui.session.tools.left_commands import CLOSED, FORKED
from co_tui.session.tools.movable_command import MovableCommand
from co_tui.session.turns.turn import Outcome
from co_tui.store.store_errors import StoreError
from tests.session.tools.test_commands import is_gone, runs
from tests.support.approving import left
from tests.support.command import CliCommand
from tests.support.long_run import also_in_a_long_run, only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.sandbox import KINDS, needs_bwrap
from tests.support.waiting import PATIENCE_S, until, wait_until
from tests.support.working import Working, repository, working_in

LET = Unattended(yes=True)
SOME_KINDS = also_in_a_long_run(KINDS[:1], KINDS[1:])
"""For what is the same in a sandbox."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


async def heard_until(listener, words: str) -> list[str]:
    heard = []
    async for event in listener:
        if isinstance(event.fact, ToolOutput):
            heard.append(event.fact.text)
            if words in event.fact.text:
                return heard
    raise AssertionError(heard)


@pytest.mark.parametrize("kind", SOME_KINDS)
async def test_what_a_command_says_is_reported_while_it_runs(folder: Path, home: Path, kind: str) -> None:
    command = "echo first; printf '10%%\\r20%%\\r'; until test -e go; do sleep 0.01; done; echo last"
    model = Working(("run_command", {"command": command}))
    environment = working_in(folder, home, model, LET, command_sandbox=kind)
    session = await Session.start(environment, "scripted")
    listener = session.events()
    turn = asyncio.create_task(session.submit("go"))
    heard = await asyncio.wait_for(heard_until(listener, "first"), PATIENCE_S)
    assert heard[-1] == "first\n20%" and not turn.done()
    (folder / "go").touch()
    assert await turn is Outcome.DONE and "last" in model.returned[-1]
    await left(environment, session)


async def test_only_the_end_of_a_flood_is_reported(folder: Path, home: Path) -> None:
    flood = "head -c 5000000 /dev/zero | tr '\\0' x; echo; echo the end; until test -e go; do sleep 0.01; done"
    model = Working(("run_command", {"command": flood}))
    environment = working_in(folder, home, model, LET)
    session = await Session.start(environment, "scripted")
    listener = session.events()
    turn = asyncio.create_task(session.submit("go"))
    heard = await asyncio.wait_for(heard_until(listener, "the end"), PATIENCE_S)
    assert max(map(len, heard)) <= 4_000
    (folder / "go").touch()
    await turn
    await left(environment, session)


@pytest.mark.parametrize("kind", SOME_KINDS)
async def test_background_commands_are_listed_and_can_be_ended(folder: Path, home: Path, kind: str) -> None:
    model = Working(("start_command", {"command": f"echo serving; touch file; exec tail -f {folder}/file"}))
    environment = working_in(folder, home, model, LET, command_sandbox=kind)
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    await until(lambda: runs(f"{folder}/file"))
    (listed,) = session.commands.background()
    assert listed.running and listed.output == "serving" and listed.command.startswith("echo serving")
    await session.commands.end(listed.id)
    (ended,) = session.commands.background()
    assert not ended.running and ended.exit_code == 143 and not runs(f"{folder}/file")
    model.steps = [("check_command", {"command_id": listed.id})]
    await session.submit("how is it going?")
    assert "[status: finished]" in model.returned[-1] and "serving" in model.returned[-1]
    await left(environment, session)


async def test_a_command_does_not_choose_what_is_ended_in_its_place(folder: Path, home: Path) -> None:
    """It can write where its own output is."""
    model = Working(("start_command", {"command": "echo $$ > pid; exec sleep 600"}))
    environment = working_in(folder, home, model, LET)
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    await until(lambda: (folder / "pid").exists() and (folder / "pid").read_text().strip())
    bystander = await asyncio.create_subprocess_exec("sleep", "600", start_new_session=True)
    kept = locate({"CO_TUI_HOME": str(home)}).commands(session.id)
    (job,) = [kept / name for name in names(kept)]
    (job / "handle").write_text(f"{bystander.pid} {bystander.pid}")
    (job / "stdout.log").unlink()
    (job / "stdout.log").symlink_to(folder / "login.py")
    (listed,) = session.commands.background()
    assert listed.running and listed.output == ""
    await session.commands.end(listed.id)
    await until(lambda: is_gone(int((folder / "pid").read_text())))
    assert bystander.returncode is None
    bystander.kill()
    await bystander.wait()
    await left(environment, session)


@pytest.mark.parametrize("kind", SOME_KINDS)
async def test_what_background_commands_write_is_not_in_the_repository(folder: Path, home: Path, kind: str) -> None:
    before = names(folder)
    model = Working(("start_command", {"command": "sleep 600"}))
    environment = working_in(folder, home, model, LET, command_sandbox=kind)
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    kept = locate({"CO_TUI_HOME": str(home)}).commands(session.id)
    assert names(folder) == before and stat.S_IMODE(kept.stat().st_mode) == 0o700
    (job,) = [kept / name for name in names(kept)]
    assert (job / "stdout.log").exists() and stat.S_IMODE(job.stat().st_mode) == 0o700
    await left(environment, session)
    assert names(folder) == before and not kept.exists()


DAEMONS = also_in_a_long_run(
    [
        ("off", "setsid tail -f {file}"),
        pytest.param("bwrap", "setsid sh -c 'trap \"\" TERM; tail -f {file}'", marks=needs_bwrap),
    ],
    [("off", "(trap '' TERM; tail -f {file})")],
)


@pytest.mark.parametrize(("kind", "daemon"), DAEMONS)
async def test_what_a_command_leaves_running_ends_with_the_session(
    folder: Path, home: Path, kind: str, daemon: str
) -> None:
    file = f"{folder}/login.py"
    model = Working(("run_command", {"command": f"{daemon.format(file=file)} > /dev/null 2>&1 &"}))
    environment = working_in(folder, home, model, LET, command_sandbox=kind)
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    await until(lambda: runs(file))
    await left(environment, session)
    await until(lambda: not runs(file))


async def test_the_model_is_told_how_long_a_command_may_take(folder: Path, home: Path) -> None:
    model = Working(("run_command", {"command": "true"}))
    environment = working_in(folder, home, model, LET, command_timeout_s=75)
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    (tool,) = [tool for tool in session.history.scaffold.tools if tool.name == "run_command"]
    assert "default, and at most: 75" in json.dumps(tool.parameters_json_schema)
    await left(environment, session)


@pytest.mark.parametrize("kind", KINDS)
def test_commands_end_when_co_tui_is_killed(served: CliCommand, provider: Provider, folder: Path, kind: str) -> None:
    def call(tool: str, command: str) -> Reply:
        return Reply(text="", tool=(tool, json.dumps({"command": command})))

    provider.window = 60_000
    provider.script = [
        call("start_command", f"echo > beside; exec tail -f {served.cwd}/beside"),
        call("run_command", f"echo > waited; exec tail -f {served.cwd}/waited"),
    ]
    served.environ["CO_TUI_COMMAND_SANDBOX"] = kind
    process = served.start_loaded("run", "-p", "go", "--yes")
    files = [served.cwd / "beside", served.cwd / "waited"]
    wait_until(lambda: all(file.exists() and file.read_text() for file in files))
    wait_until(lambda: all(runs(str(file)) for file in files))
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    wait_until(lambda: not any(runs(str(file)) for file in files))
    wait_until(lambda: not any((served.home / "state" / "commands").iterdir()))


def test_a_process_that_ended_is_not_waited_for_although_it_is_still_listed(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"], start_new_session=True)
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    guard = ProcessGuard(tmp_path / "commands", "of no other session")
    guard.note(ended.pid)
    assert not guard.has_processes()
    asyncio.run(guard.close())
    ended.wait()


def told(session: Session) -> list[str]:
    """The notes about background commands that the model got."""
    notes = [entry.message for entry in session.state.history if note_source(entry.message)]
    return [str(note["parts"][0]["content"]) for note in notes]


def news_of(session: Session) -> list[str]:
    return [event.fact.outcome for event in session.state.timeline if isinstance(event.fact, BackgroundNews)]


async def test_what_was_waited_for_and_the_end_are_told_to_the_user_and_then_to_the_model(
    folder: Path, home: Path
) -> None:
    line = "echo Listening on 80; until test -e go; do sleep 0.01; done; echo failed >&2; exit 3"
    model = Working(("start_command", {"command": line, "wait_for": "Listening on"}))
    environment = working_in(folder, home, model, LET)
    session = await Session.start(environment, "scripted")
    assert await session.submit("serve") is Outcome.DONE
    await until(lambda: len(news_of(session)) == 1)
    assert news_of(session)[0].startswith("printed “Listening on” after ")
    (folder / "go").touch()
    await until(lambda: len(news_of(session)) == 2)
    assert news_of(session)[1].startswith("ended with exit code 3 after ")
    assert await session.submit("and now?") is Outcome.DONE
    assert any("Ended with exit code 3" in note and note.endswith("failed") for note in told(session))
    assert any("Listening on 80" in str(message) for message in model.requests[-1])
    assert session.state.turn == 2
    await left(environment, session)


async def test_an_end_that_the_model_saw_or_caused_is_not_told_to_it_again(folder: Path, home: Path) -> None:
    model = Working(("start_command", {"command": "sleep 600"}))
    environment = working_in(folder, home, model, LET)
    session = await Session.start(environment, "scripted")
    assert await session.submit("serve") is Outcome.DONE
    (listed,) = session.commands.background()
    session.commands.note_seen(listed.id)
    await session.commands.end(listed.id)
    model.steps = [("start_command", {"command": "true"})]
    assert await session.submit("another") is Outcome.DONE
    await until(lambda: news_of(session))
    assert len(news_of(session)) == 1, "the user ended the first"
    assert await session.submit("and?") is Outcome.DONE
    assert [note for note in told(session) if "sleep 600" in note] == []
    await left(environment, session)


def test_a_text_is_found_across_pieces_and_after_the_log_was_cut(tmp_path: Path) -> None:
    log = tmp_path / "out"
    waited = WaitedText("ready now", [log, tmp_path / "missing"])
    assert not waited.found()
    log.write_text("x" * PIECE_BYTES + "read")
    assert not waited.found()
    log.write_text("x" * PIECE_BYTES + "ready now")
    assert waited.found()
    log.write_text("ready now")
    assert waited.found(), "its beginning was dropped"
    assert not WaitedText("", [log]).found()


@pytest.mark.parametrize("kind", SOME_KINDS)
async def test_a_running_command_is_moved_to_the_background_and_the_call_returns(
    folder: Path, home: Path, kind: str
) -> None:
    command = "echo first; echo bad >&2; touch file; until test -e go; do sleep 0.01; done; echo last; exit 3"
    model = Working(("run_command", {"command": command}))
    environment = working_in(folder, home, model, LET, command_sandbox=kind)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("go"))
    listener = session.events()
    await asyncio.wait_for(heard_until(listener, "first"), PATIENCE_S)
    (moved,) = await session.commands.move() or ()
    assert await turn is Outcome.DONE
    (returned,) = model.returned
    assert returned.startswith("[Moved to the background by the user") and moved.id in returned and "first" in returned
    facts = [event.fact for event in session.state.timeline]
    assert [fact.sentence() for fact in facts if isinstance(fact, BackgroundNews)] == [
        f"Command moved to the background after {moved.seconds:,.0f} s: {command}"
    ]
    (running,) = session.commands.running()
    assert running.id == moved.id and running.output == "first\nbad"
    (folder / "go").touch()
    await until(lambda: not session.commands.running())
    model.steps = [("check_command", {"command_id": moved.id})]
    await session.submit("how did it go?")
    assert "[stdout]\nfirst\nlast\n\n[stderr]\nbad" in model.returned[-1] and "[exit code: 3]" in model.returned[-1]
    await left(environment, session)


async def test_a_moved_command_has_no_time_limit(tmp_path: Path) -> None:
    movable, streams = MovableCommand("serve", ""), (KeptStream(tmp_path, ""), KeptStream(tmp_path, ""))
    async with movable.running(cast(Process, SimpleNamespace(pid=1)), streams):
        with movable.limited(anyio.current_time() + 0.05):
            await movable.move(tmp_path / "job")
            await asyncio.sleep(0.1)
    movable.end(0)


async def test_a_command_that_ends_while_its_files_are_begun_is_not_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    movable, streams = MovableCommand("serve", ""), (KeptStream(tmp_path, ""), KeptStream(tmp_path, ""))
    begin, is_begun, goes_on = movable_command._begin_files, threading.Event(), threading.Event()

    def slow(*given: Any) -> Any:
        files = begin(*given)
        is_begun.set()
        goes_on.wait(PATIENCE_S)
        return files

    monkeypatch.setattr(movable_command, "_begin_files", slow)
    async with movable.running(cast(Process, SimpleNamespace(pid=1)), streams):
        await movable.take(0, b"the end")
        moving = asyncio.create_task(movable.move(tmp_path / "job"))
        await asyncio.to_thread(is_begun.wait, PATIENCE_S)
        asyncio.get_running_loop().call_later(0, goes_on.set)
    assert await moving is None and not (tmp_path / "job").exists()
    assert streams[0].content_within(100) == b"the end"


@pytest.mark.parametrize("kind", SOME_KINDS)
async def test_a_moved_command_ends_by_the_user_and_with_the_session(folder: Path, home: Path, kind: str) -> None:
    steps = [("run_command", {"command": f"touch {name}; exec tail -f {folder}/{name}"}) for name in ("one", "two")]
    model = Working(*steps)
    environment = working_in(folder, home, model, LET, command_sandbox=kind)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("go"))
    for name in ("one", "two"):
        await until(lambda name=name: runs(f"{folder}/{name}") and session.commands.movable)
        await session.commands.move()
    await turn
    one, two = session.commands.background()
    await session.commands.end(one.id)
    assert not runs(f"{folder}/one") and session.commands.state(one.id).exit_code == 143
    assert [each.id for each in session.commands.running()] == [two.id]
    await left(environment, session)
    assert not runs(f"{folder}/two")


def full_disk(*_: object) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@asynccontextmanager
async def building(folder: Path, home: Path) -> AsyncIterator[tuple[Session, Working, asyncio.Task[Outcome]]]:
    """A session whose model waits for a command, until there is a file `go`."""
    model = Working(
        ("run_command", {"command": "touch file; until test -e go; do sleep 0.01; done; echo the end; exit 3"})
    )
    environment = working_in(folder, home, model, LET)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("build"))
    await until(lambda: (folder / "file").exists() and session.commands.movable)
    try:
        yield session, model, turn
    finally:
        await left(environment, session)


async def test_a_command_is_moved_once_however_often_that_is_asked_for(folder: Path, home: Path) -> None:
    async with building(folder, home) as (session, _, turn):
        first, second = await asyncio.gather(session.commands.move(), session.commands.move())
        assert first and second is None
        assert await turn is Outcome.DONE
        assert [each.id for each in session.commands.background()] == [first[0].id]
        assert len(news_of(session)) == 1


async def test_a_command_that_ends_while_its_move_is_logged_is_not_moved(folder: Path, home: Path) -> None:
    async with building(folder, home) as (session, model, turn):
        log = session.commands.tell
        assert log is not None

        async def slowly(news: CommandNews) -> None:
            await log(news)
            (folder / "go").touch()
            await turn

        session.commands.tell = slowly
        assert await session.commands.move() == [] and not session.commands.background()
        assert news_of(session)[-1] == "not moved to the background: it ended first"
        assert "[exit code: 3]" in model.returned[-1] and "Moved" not in model.returned[-1]


async def test_a_command_that_cannot_be_moved_stays_and_the_log_says_so(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with building(folder, home) as (session, model, turn):
        monkeypatch.setattr(movable_command, "_new", full_disk)
        with pytest.raises(OSError, match="No space"):
            await session.commands.move()
        assert news_of(session)[-1] == "not moved to the background: No space left on device" and not turn.done()
        assert not session.commands.background() and not list(session.commands.folder.glob("*/*.log"))
        (folder / "go").touch()
        assert await turn is Outcome.DONE and "[exit code: 3]" in model.returned[-1]


async def test_a_full_disk_does_not_end_a_moved_command(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with building(folder, home) as (session, model, turn):
        (moved,) = await session.commands.move() or ()
        await turn
        monkeypatch.setattr(movable_command, "_append", full_disk)
        (folder / "go").touch()
        await until(lambda: not session.commands.running())
        ended = session.commands.state(moved.id)
        assert ended.exit_code == 3 and ended.output.endswith("the end") and "No space left on device" in ended.output
        model.steps = [("check_command", {"command_id": moved.id})]
        await session.submit("how did it go?")
        why = "[Its log could not be written: No space left on device. After that it printed:]\nthe end"
        assert why in model.returned[-1] and "[exit code: 3]" in model.returned[-1]


async def test_nothing_is_moved_if_it_cannot_be_logged(folder: Path, home: Path) -> None:
    async def full(_: CommandNews) -> None:
        raise StoreError("The disk is full.")

    async with building(folder, home) as (session, model, turn):
        session.commands.tell, tell = full, session.commands.tell
        with pytest.raises(StoreError):
            await session.commands.move()
        assert not session.commands.background() and not turn.done()
        session.commands.tell = tell
        (folder / "go").touch()
        assert await turn is Outcome.DONE and "Moved" not in model.returned[-1]


@pytest.mark.parametrize("is_moved", also_in_a_long_run([True], [False]))
async def test_who_resumes_a_session_learns_once_that_its_background_commands_ended(
    folder: Path, home: Path, is_moved: bool
) -> None:
    line = "touch file; exec sleep 600"
    model = Working(("run_command" if is_moved else "start_command", {"command": line}))
    environment = working_in(folder, home, model, LET)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("serve"))
    await until(lambda: (folder / "file").exists() and (session.commands.movable or not is_moved))
    if is_moved:
        await session.commands.move()
    await turn
    forked, known = await session.fork(), len(news_of(session))
    await session.close()
    for prompt in ("", "and now?", "again"):  # the first time, nothing is sent to the model
        session = await Session.resume(environment, session.id)
        if prompt:
            await session.submit(prompt)
            (note,) = told(session)
            assert f"Ended when the session was closed, if not before: `{line}` (ID " in note
        assert news_of(session)[known:] == [CLOSED]
        await session.close()
    fork = await Session.resume(environment, forked)
    assert news_of(fork)[known:] == [FORKED]
    await left(environment, fork)


async def test_after_a_compaction_and_a_resume_the_model_still_hears_that_a_command_is_gone(
    folder: Path, home: Path
) -> None:
    model = Working(("start_command", {"command": "sleep 600"}))
    environment = working_in(folder, home, model, LET)
    session = await Session.start(environment, "scripted")
    await session.submit("serve")
    started = session.state.history[-2]
    for number in range(4):
        await session.submit(f"question {number}: " + "what about the file and its lines? " * 30)
    assert (await session.compact()).success
    assert started.ref not in {entry.ref for entry in session.state.history}, "the result is summarised"
    await session.close()
    for expected in (1, 1):  # once is enough
        session = await Session.resume(environment, session.id)
        await session.submit("and now?")
        assert sum("Ended when the session was closed" in note for note in told(session)) == expected
        await session.close()
    session = await Session.resume(environment, session.id)
    await session.edits.clear()
    await session.close()
    session = await Session.resume(environment, session.id)
    await session.submit("and after a clearing?")
    assert not told(session), "it knows of no command any more"
    await left(environment, session)


async def test_an_end_that_is_logged_reaches_the_model_after_a_resume(folder: Path, home: Path) -> None:
    model = Working(("start_command", {"command": "until test -e go; do sleep 0.01; done; exit 3"}))
    environment = working_in(folder, home, model, LET)
    session = await Session.start(environment, "scripted")
    await session.submit("serve")
    (folder / "go").touch()
    await until(lambda: news_of(session))
    ended = news_of(session)
    await session.close()
    session = await Session.resume(environment, session.id)
    await session.submit("and now?")
    (note,) = told(session)
    assert "Ended with exit code 3 after" in note and news_of(session) == ended
    await left(environment, session)


@only_in_a_long_run
async def test_a_command_that_the_model_stopped_is_not_reported_after_a_resume(folder: Path, home: Path) -> None:
    model = Working(("start_command", {"command": "sleep 600"}))
    environment = working_in(folder, home, model, LET)
    session = await Session.start(environment, "scripted")
    await session.submit("serve")
    model.steps = [("stop_command", {"command_id": session.commands.background()[0].id})]
    await session.submit("stop it")
    await session.close()
    session = await Session.resume(environment, session.id)
    await session.submit("and now?")
    assert not told(session) and CLOSED not in news_of(session)
    await left(environment, session)
