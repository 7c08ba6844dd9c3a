"""`!command`: the user's own, run where the session is, kept whole, and seen by the model with the next prompt."""

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from co_tui.agent.model_messages import read_messages
from co_tui.context.indexed_history import is_prompt
from co_tui.events import CommandOutput, Message, SessionInterrupted
from co_tui.events.stored_messages import command_in, prompt_of
from co_tui.session.processes.child_process import BoundedOutput
from co_tui.session.processes.user_command import CommandRefused
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.approving import Person, Tools, asking, environment_with
from tests.support.environments import ScriptedModel, environment_for, facts, says
from tests.support.stores import listed, replayed, store_in, stored_events
from tests.support.waiting import PATIENCE_S, until


@pytest.fixture(autouse=True)
def _working_directory(home: Path) -> None:
    home.mkdir()


async def started(home: Path, script=None, *, env: Mapping[str, str] | None = None, **environ: str) -> Session:
    """`env` is the setting, `environ` the process's environment."""
    environment = environment_for(home, ScriptedModel(script or says("seen"), window=200_000), env=env or {})
    environment.environ = {"PATH": os.environ["PATH"], **environ}
    return await Session.start(environment, "scripted")


def told(session: Session) -> str:
    """What the latest message of the log says."""
    return session.state.transcript[-1].message["parts"][0]["content"]


async def test_it_starts_no_turn_and_the_model_sees_it_with_the_next_prompt(home: Path) -> None:
    sent = []

    async def script(messages, info):
        sent.append(messages)
        yield "seen"

    session = await started(home, script)
    home.joinpath("here.txt").write_text("x")
    assert await session.run_command("ls; exit 3") is Outcome.DONE
    assert not sent and session.state.turn == 0 and session.state.title == ""
    assert session.state.usage is None, "what the first request takes is not known without its tools"
    await session.submit("what did I do?")
    first, second = (part.content for message in sent[0] for part in message.parts)
    assert first.startswith(f"[The user ran a command in {home}. It ended with exit code 3 after ")
    assert "$ ls; exit 3\n" in first and "here.txt" in first and second == "what did I do?"
    assert session.state.turn == 1 and session.state.title == "what did I do?"
    measured = session.state.usage
    assert measured is not None and measured.messages_count == 3
    await session.run_command("true")
    assert session.state.usage is not None and session.state.usage.messages_count == 4
    message = session.state.transcript[0].message
    assert prompt_of(message) is None and command_in(message) == "ls; exit 3"
    assert not is_prompt(read_messages([message])[0])
    await session.close()
    assert replayed(home, session.id) == session.state
    assert listed(home)[0].title == "what did I do?"
    with store_in(home).reading() as reading:
        assert len(reading.sessions(search="here.txt")) == 1
        assert reading.prompts(limit=5) == ["what did I do?"]


async def test_it_gets_the_user_s_environment_without_keys_and_no_terminal(home: Path) -> None:
    session = await started(home, env={"STAGE": "test"}, OPENAI_API_KEY="sk-secret", MY_TOKEN="t", EDITOR="vi")
    await session.run_command('echo "[$OPENAI_API_KEY$MY_TOKEN][$EDITOR $STAGE]"; cat; : < /dev/tty || echo none')
    assert "[][vi test]" in told(session) and "none" in told(session)
    await session.close()


async def test_output_comes_while_it_runs_and_the_end_is_reported_once(home: Path) -> None:
    session = await started(home)
    listener = session.events()
    gate = home / "gate"
    running = asyncio.create_task(session.run_command("echo first; until test -e gate; do sleep 0.02; done; echo last"))
    heard: list[str] = []
    while "first" not in "".join(heard):
        event = await asyncio.wait_for(anext(listener), PATIENCE_S)
        heard += [event.fact.text] if isinstance(event.fact, CommandOutput) else []
    assert not session.state.transcript
    gate.touch()
    assert await running is Outcome.DONE
    assert told(session).count("first") == 2 and "\nlast\n" in told(session), "once in the command, once in its output"
    await session.close()


async def test_stopping_ends_it_with_its_children_and_keeps_what_came(home: Path) -> None:
    session = await started(home)
    running = asyncio.create_task(session.run_command("(sleep 600 & echo $! > child; wait); echo never"))
    await until(lambda: (home / "child").exists() and (home / "child").read_text().strip())
    later = asyncio.create_task(session.submit("later"))
    await until(lambda: session.queue.prompts)
    assert session.interrupt()
    assert await running is Outcome.INTERRUPTED
    assert "It was stopped by the user after" in told(session) and "\nnever" not in told(session)
    child = int((home / "child").read_text())
    await until(lambda: not _lives(child))
    assert [each.held for each in session.queue.prompts] == [True], "what waits stays on hold"
    session.queue.release()
    assert await later is Outcome.DONE
    await session.close()
    assert replayed(home, session.id) == session.state


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"


async def test_its_time_is_limited(home: Path) -> None:
    session = await started(home)
    await session.switcher.apply_settings(session.settings.but(command_timeout_s=0.2))
    assert await session.run_command("echo begun; sleep 600") is Outcome.DONE
    assert "It was stopped at its time limit" in told(session) and "begun" in told(session)
    await session.close()


async def test_a_child_that_stays_behind_is_not_waited_for(home: Path) -> None:
    session = await started(home)
    await asyncio.wait_for(session.run_command("sleep 600 & echo $! > child; echo done"), PATIENCE_S)
    assert "exit code 0" in told(session) and "\ndone\n" in told(session)
    os.kill(int((home / "child").read_text()), signal.SIGKILL)
    await session.close()


async def test_a_flood_of_bytes_is_bounded_and_storable(home: Path) -> None:
    session = await started(home)
    await session.run_command("head -c 30000000 /dev/urandom; printf '\\033[31mred'; echo the end")
    assert len(told(session)) < 70_000 and "bytes of the output are left out" in told(session)
    assert told(session).rstrip("`\n").endswith("the end")
    await session.close()
    assert replayed(home, session.id) == session.state


async def test_many_of_them_leave_room_for_the_prompt(home: Path) -> None:
    sent = []

    async def script(messages, info):
        sent.append(messages)
        yield "seen"

    environment = environment_for(home, ScriptedModel(script, window=4_000))
    environment.environ = {"PATH": os.environ["PATH"]}
    session = await Session.start(environment, "scripted")
    for n in range(8):
        await session.run_command(f"seq {n * 1000} {n * 1000 + 999}")
    assert await session.submit("how many?") is Outcome.DONE
    assert sent[-1][-1].parts[-1].content == "how many?"
    assert "7999" in str(sent[-1]) and "3999" not in str(sent[-1]), "the latest is seen, the oldest are not"
    assert session.state.usage.current_tokens < 4_000
    await session.close()
    assert replayed(home, session.id) == session.state


async def test_killed_in_the_middle_it_is_in_the_log_as_far_as_it_came(home: Path) -> None:
    session = await started(home)
    running = asyncio.create_task(session.run_command("echo so far; sleep 600"))
    session._environment.store.writing()
    await until(lambda: "so far" in "".join(_half(home, session.id)), 30)
    bodies = _half(home, session.id)
    session.interrupt()
    await running
    assert not _half(home, session.id), "what is in the log is not kept twice"
    # As another process finds it when this one was killed before the end:
    writer = session._environment.store.writing()
    await asyncio.wrap_future(writer.save_reply(session.id, 0, bodies[0]))
    await asyncio.wrap_future(writer.recover(session.id))
    *_, message, interrupted = stored_events(home, session.id)
    assert isinstance(message.fact, Message) and command_in(message.fact.message) == "echo so far; sleep 600"
    assert "still running when co-tui ended" in str(message.fact.message) and "so far" in str(message.fact.message)
    assert isinstance(interrupted.fact, SessionInterrupted) and "your command" in interrupted.fact.what
    await session.close()


def _half(home: Path, session_id: str) -> list[str]:
    with store_in(home).reading() as reading:
        return reading.partial_reply(session_id)


async def test_while_a_question_waits_it_is_refused(home: Path) -> None:
    person, tools = Person(), Tools()
    environment = environment_with(home, asking(("write", "b")), tools, person)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("go"))
    await until(lambda: person.asked)
    await session.close()
    await turn
    resumed = await Session.resume(environment, session.id)
    with pytest.raises(CommandRefused, match="Answer the pending question"):
        await resumed.run_command("ls")
    assert len(resumed.state.pending) == 1 and not facts(list(resumed.state.timeline), SessionInterrupted)
    await resumed.close()


@pytest.mark.parametrize("size", [0, 5, 10, 11, 15, 20, 21, 1000])
def test_output_keeps_both_ends_within_bounds(size: int) -> None:
    data = bytes(ord("a") + n % 26 for n in range(size))
    for step in (1, 3, 10, 1000):
        output = BoundedOutput(10)
        for start in range(0, size, step):
            output.add(data[start : start + step])
        if size <= 10:
            assert output.text == data.decode()
        else:
            first, note, last = output.text.split("\n")
            assert first == data[:5].decode() and last == data[-5:].decode() and f" {size - 10:,} bytes" in note


def test_a_character_that_has_not_come_whole_is_not_shown_yet() -> None:
    output = BoundedOutput(100)
    for byte in "aé€😀".encode():
        output.add(bytes([byte]))
        assert "\ufffd" not in output.beginning(100)
    assert output.beginning(100) == "aé€😀"
