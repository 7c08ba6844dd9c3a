"""What a session taught goes to the board, by a command or by itself once the session is left."""

import json
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from co_tui.events import Message, SessionStart
from co_tui.session.board import board_process
from co_tui.session.checkout import repository_branch_of
from co_tui.store.notes.context_board import ContextBoard
from tests.support import growing_files
from tests.support.command import CliCommand
from tests.support.here import Here
from tests.support.postgres import postgres_server, synced_store
from tests.support.provider import Provider, Reply
from tests.support.waiting import PATIENCE_S

LEARNS = [
    Reply(text="", tool=("context_board", json.dumps({"action": "add", "text": "Tests run with uv."}))),
    Reply(text="That is all."),
]


def on_board(command: CliCommand) -> list[str]:
    board = ContextBoard(command.home / "data" / "boards", *repository_branch_of(command.cwd))
    return [entry.text for entry in board.read().entries]


def test_a_stored_session_is_learnt_from(served_here: Here, provider: Provider) -> None:
    provider.window, provider.default = 32_000, Reply(prompt_tokens=-1)
    assert served_here("run", "-p", "We test with uv.").code == 0
    (row,) = served_here("sessions", "--json").objects
    provider.script = list(LEARNS)
    done = served_here("subconscious", row["id"])
    assert (done.code, done.out, on_board(served_here)) == (0, "+ Tests run with uv.\n", ["Tests run with uv."])
    assert "1 added" in done.err and "We test with uv." in json.dumps(provider.requests[-1]["messages"])
    provider.script = [LEARNS[0], Reply(status=500, body="{}")]
    failed = served_here("subconscious", row["id"])
    assert failed.code == 1 and "The board is unchanged" in failed.err
    log = served_here("export", row["id"], "--format", "jsonl").objects
    *_, paid = (event for event in log if event["type"] == "board.changed")
    assert paid["payload"]["usage"]["requests"] == 1 and paid["payload"]["outcome"].startswith("nothing changed: ")
    assert served_here("subconscious", "nobody").code == 1
    assert served_here("run", "-p", "And now?").code == 0
    assert "- Tests run with uv." in provider.requests[-1]["messages"][0]["content"]
    figures = served_here("context", served_here("sessions", "--json").objects[0]["id"], "--json").objects[0]
    assert figures["board_entries"] == 1 and figures["board_tokens"] > 10
    *seen, total = served_here("lens", served_here("sessions", "--json").objects[0]["id"], "--json").objects
    (shown,) = [each for each in seen if each["kind"] == "board"]
    assert "- Tests run with uv." in shown["text"] and shown["tokens"] > 0 and shown["role"] == "system"
    assert sum(each["tokens"] for each in seen) == total["total_tokens"]


def test_an_imported_log_does_not_choose_whose_board_is_written(
    served_here: Here, provider: Provider, tmp_path: Path
) -> None:
    provider.window = 32_000
    victim, log = tmp_path / "victim", tmp_path / "log.jsonl"
    victim.mkdir()
    assert served_here("run", "-p", "We test with uv.").code == 0
    (row,) = served_here("sessions", "--json").objects
    exported = served_here("export", row["id"], "--format", "jsonl").out
    log.write_text(
        exported.replace(json.dumps(row["cwd"]), json.dumps(str(victim))).replace(row["id"], "from-elsewhere")
    )
    assert served_here("import", str(log)).code == 0
    provider.script = list(LEARNS)
    done = served_here("subconscious", "from-elsewhere")
    assert done.code == 0 and f"worked in {victim}" in done.err
    (boards,) = {file.parent for file in (served_here.home / "data" / "boards").rglob("*.md")}
    assert "victim" not in boards.name and on_board(served_here) == ["Tests run with uv."]


def test_a_server_does_not_choose_the_model_that_learns(served_here: Here, provider: Provider, tmp_path: Path) -> None:
    provider.window = 32_000
    url = served_here.environ["CO_TUI_DATABASE"] = postgres_server().new_database()
    with synced_store(tmp_path / "elsewhere", url) as store:
        model = "openai-chat:x@http://127.0.0.1:1/v1"
        said = Message(turn=1, message=growing_files.said("We test with uv.", by_user=True))
        store.writing().append("s", [SessionStart(model=model, cwd="/w"), said]).result()
        store.sync.complete()
    provider.script = list(LEARNS)
    done = served_here("subconscious", "s")
    assert (done.code, done.out) == (0, "+ Tests run with uv.\n")


def test_a_session_that_is_left_teaches_by_itself_and_no_one_waits(
    served_here: Here, provider: Provider, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(program))
    provider.window = 32_000
    served_here.environ["CO_TUI_BOARD_UPDATES"] = "on"
    assert served_here("run", "-p", "We test with uv.").code == 0
    assert len(provider.requests) == 1, "too little was said to learn from"
    held = threading.Event()
    provider.script = [Reply(), replace(LEARNS[0], until=held), LEARNS[1]]
    assert served_here("run", "--continue", "-p", "Always.").code == 0
    (process,) = board_process._started
    assert process.poll() is None and not on_board(served_here), "it runs on after the command has ended"
    held.set()
    assert process.wait(PATIENCE_S) == 0
    assert on_board(served_here) == ["Tests run with uv."]
