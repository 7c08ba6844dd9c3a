"""A command stops in order whenever it is asked to: code 130, a word for people, the end in the log."""

import asyncio
import fcntl
import json
import os
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import termios
import threading
from contextlib import closing
from pathlib import Path
from typing import IO, Any

import pytest

from tests.support.command import CliCommand
from tests.support.loaded import LoadedProcess
from tests.support.provider import Provider, Reply
from tests.support.talks import LONG, talk, talking
from tests.support.waiting import HANGING_S, PATIENCE_S, wait_until

NEARLY_FULL = 64_000
"""Of the 65,536 bytes that a pipe holds: more than one piece of a reply, so that the next does not fit."""


def ended(process: "subprocess.Popen[str] | LoadedProcess") -> str:
    """Its last words, once it has stopped as it should."""
    _, words = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130 and "Traceback" not in words, words
    return words


def log_of(command: CliCommand) -> list[tuple[str, dict[str, Any]]]:
    if not command.database.exists():
        return []
    with sqlite3.connect(command.database) as connection:
        rows = connection.execute("SELECT type, payload FROM events ORDER BY seq").fetchall()
    return [(kind, json.loads(payload)) for kind, payload in rows]


def unread(pipe: IO[str] | None) -> int:
    assert pipe is not None
    return int(struct.unpack("i", fcntl.ioctl(pipe.fileno(), termios.FIONREAD, b"\0" * 4))[0])


def test_while_it_reads_the_prompt(served: CliCommand) -> None:
    process = served.start("run", stdin=subprocess.PIPE)
    wait_until(lambda: _waits_for_input(process.pid))
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 130
    assert "Interrupted." in ended(process)


def test_while_another_program_writes_to_the_database(served: CliCommand) -> None:
    assert served("run", "-p", "hi").code == 0
    (session,) = served("sessions", "--json").objects
    with closing(sqlite3.connect(served.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        process = served.start("sessions", "--pin", session["id"])
        assert process.stderr is not None
        assert process.stderr.readline() == f"co-tui: Waiting for another program that writes to {served.database}.\n"
        process.send_signal(signal.SIGINT)
        assert "Interrupted." in ended(process)
        other.execute("ROLLBACK")
    (session,) = served("sessions", "--json").objects
    assert not session["pinned"]


@pytest.mark.parametrize("at", ["start", "turn"])
def test_a_run_stops_while_another_program_writes_to_the_database(
    served: CliCommand, provider: Provider, at: str
) -> None:
    assert served("run", "-p", "hi").code == 0
    provider.script, asked = [Reply(wait_s=HANGING_S)], len(provider.requests)
    with closing(sqlite3.connect(served.database, isolation_level=None)) as other:
        if at == "start":
            other.execute("BEGIN IMMEDIATE")
        process = served.start_loaded("run", "-p", "hello")
        if at == "start":
            assert process.stderr is not None and "Waiting for another program" in process.stderr.readline()
        else:
            wait_until(lambda: len(provider.requests) > asked)
            other.execute("BEGIN IMMEDIATE")
        process.send_signal(signal.SIGINT)
        assert "Interrupted; not everything was saved. Database " in ended(process)


def test_an_interrupt_inside_evaluated_text_still_ends_with_our_code(tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(
        "import sys\nfrom co_tui import __main__, cli\n"
        "cli.run = lambda arguments: exec('raise KeyboardInterrupt')\nsys.exit(__main__.main())\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    process = subprocess.run(
        [sys.executable, "-m", "interrupted"], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
    )
    assert (process.returncode, process.stderr) == (130, "co-tui: Interrupted.\n")


def _waits_for_input(pid: int) -> bool:
    """Standard input is where it sleeps: the signals are heeded, and the engine is not loaded before the prompt."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        caught = next(int(line.split()[1], 16) for line in status if line.startswith("SigCgt"))
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def test_while_the_model_is_opened(served: CliCommand) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        served.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        process = served.start_loaded("run", "-p", "hello")
        silent.settimeout(PATIENCE_S)
        connection, _ = silent.accept()
        process.send_signal(signal.SIGHUP)
        words = ended(process)
        connection.close()
    assert "Interrupted" in words
    assert "message" not in [kind for kind, _ in log_of(served)]


def test_before_its_prompt_is_saved(served: CliCommand, provider: Provider) -> None:
    assert served("run", "-p", "hi").code == 0
    (before,) = served("sessions", "--json").objects
    for where, outcome in (
        ((), "Interrupted before anything was saved."),
        (("--session", before["id"]), f"Interrupted; nothing was added to session {before['id']}."),
    ):
        provider.asked_models.clear()
        provider.models = Reply(until=threading.Event(), raw=[b'{"data": [{"id": "scripted", "max_model_len": 4096}]}'])
        process = served.start_loaded("run", "-p", "hello", *where)
        wait_until(lambda: provider.asked_models)
        process.send_signal(signal.SIGTERM)
        provider.models.until.set()
        assert ended(process) == f"co-tui: {outcome}\n"
    (left,) = served("sessions", "--json").objects
    assert left["id"] == before["id"] and len(provider.requests) == 1


def test_while_it_answers(served: CliCommand, provider: Provider) -> None:
    provider.script = [Reply(text="word " * 500, delay_s=0.05, open_end=True)]
    process = served.start_loaded("run", "-p", "talk", "--json")
    assert process.stdout is not None
    wait_until(lambda: len(provider.requests) == 1)
    process.send_signal(signal.SIGHUP)
    words = ended(process)
    kinds = [kind for kind, _ in log_of(served)]
    assert "session.interrupted" in kinds and kinds[-1] == "session.end"
    partial = [payload for kind, payload in log_of(served) if kind == "message" and payload.get("interrupted")]
    assert ("the partial reply is saved in session" in words) is bool(partial)


def test_before_it_answers_no_partial_reply_is_reported(served: CliCommand, provider: Provider) -> None:
    provider.script = [Reply(wait_s=HANGING_S)]
    process = served.start_loaded("run", "-p", "talk", "--json")
    wait_until(lambda: len(provider.requests) == 1)
    process.send_signal(signal.SIGHUP)
    assert "Interrupted; what was said is saved in session " in ended(process)


def test_while_it_compacts_during_the_turn(served: CliCommand, provider: Provider) -> None:
    provider.default, provider.window = LONG, 100_000

    async def converse() -> str:
        async with talking(served.home, provider) as session:
            await talk(session, 5)
            return session.id

    session = asyncio.run(converse())
    provider.window, provider.summary = 1_500, Reply(text="Title: x", wait_s=HANGING_S)
    provider.summary_requests.clear()
    asked = "Question about src/module.py " * 6
    process = served.start_loaded("run", "--session", session, "--policy", "copilot", "-p", asked)
    wait_until(lambda: provider.summary_requests)
    process.send_signal(signal.SIGINT)
    ended(process)
    kind, payload = log_of(served)[-1]
    assert (kind, payload["reason"]) == ("session.end", "interrupted")


def test_while_the_lab_reads(co_tui: CliCommand) -> None:
    os.mkfifo(co_tui.cwd / "talks.jsonl")
    process = co_tui.start_loaded("lab", "--input", "talks.jsonl")
    with open(co_tui.cwd / "talks.jsonl", "w", encoding="utf-8"):  # goes on once the lab has opened it, too
        process.send_signal(signal.SIGHUP)
        assert "Interrupted." in ended(process)


@pytest.mark.parametrize("words_too", [False, True])
def test_while_no_one_reads_what_it_prints(served: CliCommand, provider: Provider, words_too: bool) -> None:
    provider.script = [Reply(text=("word" * 5_000 + " ") * 10)]
    process = served.start_loaded("run", "-p", "talk", one_stream=words_too)
    wait_until(lambda: unread(process.stdout) > NEARLY_FULL)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 130
    if not words_too:
        assert process.stderr is not None and "Output was closed" in process.stderr.read()
    process.communicate()
    assert [kind for kind, _ in log_of(served)][-1] == "session.end"


def test_while_no_one_reads_a_listing(served: CliCommand, provider: Provider) -> None:
    provider.default = Reply(text=("word" * 5_000 + " ") * 10)

    async def converse() -> str:
        async with talking(served.home, provider) as session:
            await talk(session, 1)
            return session.id

    process = served.start_loaded("show", asyncio.run(converse()))
    wait_until(lambda: unread(process.stdout) > NEARLY_FULL)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 130
    assert "Interrupted." in ended(process)


def test_a_run_under_nohup_outlives_its_terminal(served: CliCommand, provider: Provider) -> None:
    hung_up = threading.Event()
    provider.script = [Reply(text="one two three", until=hung_up)]
    process = served.start_loaded("run", "-p", "talk", ignored=[signal.SIGHUP])
    wait_until(lambda: provider.requests)
    process.send_signal(signal.SIGHUP)
    hung_up.set()
    out, _ = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out.split()) == (0, ["one", "two", "three"])


def test_a_dumb_terminal_gets_a_sentence_instead_of_a_screen(co_tui: CliCommand) -> None:
    ours, theirs = os.openpty()
    co_tui.environ["TERM"] = "dumb"
    process = co_tui.start(stdin=theirs, stdout=theirs)
    os.close(theirs)
    _, words = process.communicate(timeout=PATIENCE_S)
    os.close(ours)
    assert process.returncode == 2 and "needs a full terminal" in words and "co-tui run -p" in words
