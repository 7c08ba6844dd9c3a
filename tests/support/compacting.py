"""What tests of compaction share: what a history says, a person who answers, a session about to wait."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from co_tui.events.stored_messages import pieces
from co_tui.session.approvals.questions import CompactionQuestion, SummaryQuestion, Unattended
from co_tui.session.session import Session
from co_tui.session.state.session_state import SessionState
from co_tui.store.notes.checkpoints import Checkpoints
from tests.support.provider import Provider, Reply
from tests.support.talks import compactions, talk
from tests.support.waiting import PATIENCE_S

RULE = "From now on always answer in French."
TOO_MUCH = Reply(status=413, body='{"error": {"message": "Request too large: prompt exceeds the context window"}}')
BLOCKS_EARLY = {"background_compaction_threshold": 0.5, "buffer_exhaustion_threshold": 0.5}


def texts(state: SessionState) -> list[str]:
    return [text for entry in state.history for _, text, _ in pieces(entry.message)]


def read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


class Person(Unattended):
    """Someone who is asked."""

    def __init__(self, may: bool = True, wished: str | None = None) -> None:
        super().__init__()
        self.may, self.wished, self.asked = may, wished, []

    async def may_compact(self, question: CompactionQuestion) -> bool:
        self.asked.append(question)
        return self.may

    async def review(self, question: SummaryQuestion) -> str | None:
        self.asked.append(question)
        return self.wished


def successes(session: Session) -> list[Any]:
    return [done for done in compactions(session.state) if done.success]


def look(n: int = 0) -> str:
    """Look at something."""
    return "a result about the function in src/module.py " * 30


def looking(times: int) -> list[Reply]:
    return [Reply(text="", tool=("look", json.dumps({"n": n}))) for n in range(times)]


async def about_to_block(session: Session, provider: Provider) -> None:
    """Fill the context so far that the next request has to wait for a compaction."""

    async def nothing(_: Any) -> None:
        return None

    session._compactor.after_turn = nothing
    while session.state.usage is None or session.state.usage.current_tokens < 1_400:
        await talk(session, 1)


class Writing:
    """A checkpoint that is being written until the test lets it end."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()
        real: Callable[..., Any] = Checkpoints.write

        def held(*arguments: Any, **more: Any) -> Any:
            self.begun.set()
            assert self.may_end.wait(PATIENCE_S)
            return real(*arguments, **more)

        monkeypatch.setattr(Checkpoints, "write", held)
