"""A reply in the making is saved as it grows, at a cost that grows with it and no faster."""

import json
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import pytest

from co_tui.events import SessionStart, StreamDelta
from co_tui.events.partial_reply import DraftPiece
from co_tui.session.recorder import Listener
from co_tui.session.session import Session
from co_tui.session.turns import reply_draft as drafts
from co_tui.session.turns.reply_draft import Draft
from co_tui.session.turns.turn import Outcome
from co_tui.store.sqlite.in_memory import InMemoryStore
from co_tui.store.store_errors import StoreError
from tests.support.environments import ScriptedModel, environment_for, facts

PIECES = 300


class Counting:
    """A writer that only counts."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.refuses = False

    def save_reply(self, session_id: str, number: int, body: str) -> "Future[None]":
        assert number == len(self.rows)
        done: Future[None] = Future()
        if self.refuses:
            done.set_exception(StoreError("The disk is full."))
        else:
            self.rows.append(body)
            done.set_result(None)
        return done


def test_every_piece_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "SAVE_EVERY_S", 0.0)
    counting: Any = Counting()
    draft = Draft("s", 1, "m", counting)
    for n in range(2_000):
        draft.add(DraftPiece(0, "text", f"word {n} " * 10))
    assert len(counting.rows) == 2_000
    assert sum(map(len, counting.rows)) < 3 * len(draft.text) + 200 * len(counting.rows)


def test_what_could_not_be_written_is_written_with_what_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "SAVE_EVERY_S", 0.0)
    counting: Any = Counting()
    draft = Draft("s", 1, "m", counting)
    for n in range(6):
        counting.refuses = n in (2, 3)
        draft.add(DraftPiece(0, "text", f"w{n} "))
    rows = [json.loads(row)["pieces"] for row in counting.rows]
    assert "".join(piece[2] for pieces in rows for piece in pieces) == draft.text


def test_a_killed_process_loses_only_what_came_since_the_last_save(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "SAVE_EVERY_S", 0.0)
    writer = InMemoryStore().writing()
    writer.append("s", [SessionStart()]).result()
    save_reply = writer.save_reply

    def save_at_once(*saved: Any) -> Any:
        wait([done := save_reply(*saved)])
        return done

    monkeypatch.setattr(writer, "save_reply", save_at_once)
    draft = Draft("s", 3, "m", writer)
    draft.add(DraftPiece(0, "tool_call", '{"a":', "poke", "c1"))
    for n in range(50):
        draft.add(DraftPiece(1, "thinking", f"t{n} "))
        draft.add(DraftPiece(2, "text", f"w{n} "))
    expected = draft.message()
    message, _ = writer.recover("s").result()
    assert (message.fact.turn, message.fact.message, message.fact.interrupted) == (3, expected, True)
    assert [part["content"][:6] for part in message.fact.message["parts"]] == ["t0 t1 ", "w0 w1 "]


async def test_many_small_pieces_are_one_reply(home: Path) -> None:
    async def script(messages, info):
        for n in range(PIECES):
            yield f"w{n} "

    environment = environment_for(home, ScriptedModel(script, window=1_000_000))
    listener = Listener()
    session = await Session.start(environment, "scripted", listener)
    assert await session.submit("write a lot") is Outcome.DONE
    text = session.state.transcript[-1].message["parts"][0]["content"]
    await session.close()
    assert text == "".join(f"w{n} " for n in range(PIECES))
    assert "".join(delta.text for delta in facts([event async for event in listener], StreamDelta)) == text
    environment.store.close()
