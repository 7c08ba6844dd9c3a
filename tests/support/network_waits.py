"""Which work waits for a database server in the thread of the event loop, where keys would wait with it."""

import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import psycopg
import pytest

HOW_MANY_FRAMES = 12


def recorded_network_waits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that gets the stack of each wait for a server, or for a thread, in the calling thread from now on."""
    waits: list[str] = []
    here = threading.get_ident()

    def recorded(function: Callable[..., Any], is_waiting: Callable[..., bool]) -> Callable[..., Any]:
        def call(*args: Any, **how: Any) -> Any:
            if threading.get_ident() == here and is_waiting(*args):
                waits.append("".join(traceback.format_stack(limit=HOW_MANY_FRAMES)))
            return function(*args, **how)

        return call

    monkeypatch.setattr(psycopg.Connection, "wait", recorded(psycopg.Connection.wait, lambda *_: True))
    monkeypatch.setattr(psycopg, "connect", recorded(psycopg.connect, lambda *_: True))
    monkeypatch.setattr(Future, "result", recorded(Future.result, lambda future, *_: not future.done()))
    return waits
