"""The replays of `co-tui lab`: in this process, or spread over several."""

import asyncio
import json
import multiprocessing
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from co_tui.context.measure.count import Window
from co_tui.context.policy import policy_of
from co_tui.exchange.openai_format import Conversation, to_chat
from co_tui.lab.results import ConversationResult, PolicyResult, replayed
from co_tui.lab.tally import ReplayedRequest
from co_tui.paths import ensure_dir, write_atomically
from co_tui.session.compaction.job import SummaryWriter
from co_tui.settings import Settings


class ReplayFailed(Exception):
    """A process ended before its replays did."""


class Replays(NamedTuple):
    """What is replayed under which policies, and as if by which model."""

    recordings: Sequence[Conversation]
    policies: Sequence[tuple[str, Settings]]
    window: Window
    ratio: float = 1.0
    dump: Path | None = None

    @property
    def total(self) -> int:
        return len(self.recordings) * len(self.policies)

    def in_order(self, results: Sequence[ConversationResult]) -> list[PolicyResult]:
        """The results of replays 0, 1, …, by policy."""
        each = len(self.recordings)
        return [
            PolicyResult(name, results[number * each : (number + 1) * each])
            for number, (name, _) in enumerate(self.policies)
        ]

    async def run(self, number: int, summaries: SummaryWriter | None = None) -> ConversationResult:
        """Replay one conversation under one policy. Raises `OSError` if a request cannot be written."""
        policy, recording = divmod(number, len(self.recordings))
        (name, settings), conversation = self.policies[policy], self.recordings[recording]
        dump = self.dump and partial(
            _write, self.dump / name / f"{recording + 1}-{_safe(conversation.id)}", name, conversation.id, self.window
        )
        return await replayed(
            name,
            policy_of(settings),
            conversation,
            self.window,
            ratio=self.ratio,
            summaries=summaries,
            on_request=dump or None,
        )


def run_in_processes(replays: Replays, jobs: int, on_done: Callable[[], None]) -> list[PolicyResult]:
    """Run every replay in one of `jobs` processes; the results are in the same order as without. Raises `OSError`."""
    # A fresh interpreter each: a fork would copy threads in the middle of their work.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    workers = min(jobs, replays.total)
    pool = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(replays,))
    try:
        with _interrupts_held():
            numbers = {pool.submit(_run, number): number for number in range(replays.total)}
        results: dict[int, ConversationResult] = {}
        for done in as_completed(numbers):
            results[numbers[done]] = done.result()
            on_done()
        pool.shutdown()
    except BrokenProcessPool:
        raise ReplayFailed("A process of the lab ended before its replays did. Try fewer with --jobs.") from None
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        pool.shutdown(cancel_futures=True)
        raise
    return replays.in_order([results[number] for number in range(replays.total)])


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold interrupts back until the end, and for good in processes that start until then: Ctrl+C reaches all
    processes, and the first one ends the others."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker:
    """What this process replays."""

    replays: Replays | None = None


def _begin(replays: Replays) -> None:
    _Worker.replays = replays
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def _run(number: int) -> ConversationResult:
    assert _Worker.replays is not None
    return asyncio.run(_Worker.replays.run(number))


class Progress:
    """One line on a terminal's standard error that is rewritten as replays end; nothing elsewhere."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._done = 0
        self._shows = sys.stderr.isatty()

    def __enter__(self) -> "Progress":
        self._show()
        return self

    def __exit__(self, *error: object) -> None:
        self._put("")

    def step(self) -> None:
        self._done += 1
        self._show()

    def _show(self) -> None:
        self._put(f"Replayed {self._done:,} of {self._count:,} ({self._done * 100 // max(1, self._count)} %)")

    def _put(self, text: str) -> None:
        if self._shows:
            try:
                print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)
            except OSError:
                self._shows = False


def _safe(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name)[:80]


def _write(folder: Path, policy: str, name: str, window: Window, request: ReplayedRequest) -> None:
    record = {
        "id": name,
        "policy": policy,
        "request": request.number,
        "input_messages": request.input_messages,
        "limit_tokens": window.tokens,
        "tokens": request.prepared.reading.current_tokens,
        "compactions": request.compactions,
        "truncated": request.prepared.truncation is not None,
        "messages": to_chat(request.prepared.messages),
    }
    target = ensure_dir(folder) / f"{request.number:05}.json"
    write_atomically(target, json.dumps(record, ensure_ascii=False).encode(errors="replace").decode())
