"""The one place that starts work in the background of the screen. A failure there is shown, and ends nothing."""

import asyncio
import inspect
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

from textual.dom import DOMNode

from co_tui.inert import one_line
from co_tui.store.store_errors import StoreError

T = TypeVar("T")
SWITCH_INTERVAL_S: Final = 0.0002
"""Thread switch interval while a thread works; Python's default of 5 ms makes typing lag."""
ERROR_CHARS: Final = 200


@runtime_checkable
class ShowsFailures(Protocol):
    """The app: says what failed, and keeps it for a bug report."""

    def background_failed(self, sentence: str, error: Exception, *, once: bool = False) -> None:
        """`once`: the same sentence is not said again."""
        ...


def run_in_background(
    node: DOMNode,
    doing: str,
    work: Callable[[], Coroutine[Any, Any, object]],
    *,
    group: str,
    latest: bool = False,
    failed: Callable[[], object] | None = None,
) -> None:
    """Run it on the loop until it ends or its node is gone.

    `doing` says what it does, as in "Searching failed". With `latest` it takes the place of what was started before
    in its group. `failed` resets what waits for it. It takes a function, since a coroutine that is cancelled before
    it begins would never be awaited.
    """

    async def guarded() -> None:
        try:
            await work()
        except Exception as error:
            report(node, doing, error, failed)

    # The library's types let no coroutine function through.
    node.run_worker(guarded, group=group, exclusive=latest, exit_on_error=False)  # type: ignore[arg-type]


def run_thread(node: DOMNode, doing: str, work: Callable[[], object], *, group: str) -> None:
    """Run it in a thread of its own."""

    def guarded() -> None:
        try:
            work()
        except Exception as error:
            node.app.call_later(report, node, doing, error)

    node.run_worker(guarded, thread=True, group=group, exit_on_error=False)


def guarded_callback(
    node: DOMNode, doing: str, work: Callable[..., object], *, once: bool = False
) -> Callable[..., Coroutine[Any, Any, None]]:
    """For `call_later` and timers: the same callback, whose failure is shown instead of ending the app.

    `once` is for callbacks that run again and again, and would say the same each time.
    """

    async def guarded(*args: Any) -> None:
        try:
            done = work(*args)
            if inspect.isawaitable(done):
                await done
        except Exception as error:
            report(node, doing, error, once=once)

    return guarded


def start_awaited(work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    """A task whose result its starter awaits: a failure is raised there. One that is no longer wanted may fail."""
    task = asyncio.create_task(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


def report(
    node: DOMNode, doing: str, error: Exception, failed: Callable[[], object] | None = None, *, once: bool = False
) -> None:
    """Show what failed, and reset what waited for it. A screen that was closed meanwhile reports nothing."""
    app = node.app
    if not node.is_attached or not app.is_running:
        return
    if isinstance(app, ShowsFailures):
        app.background_failed(failure_sentence(doing, error), error, once=once)
    else:
        app.notify(failure_sentence(doing, error), severity="error", markup=False)
    if failed is not None:
        try:
            failed()
        except Exception as another:
            report(node, f"Recovering after: {doing}", another)


def failure_sentence(doing: str, error: Exception) -> str:
    """What was being done, and how it failed; errors of the store are sentences for people already."""
    detail = one_line(str(error), ERROR_CHARS)
    if not isinstance(error, StoreError):
        detail = f"{type(error).__name__}: {detail}" if detail else type(error).__name__
    return f"{doing} failed: {detail}{'' if detail.endswith(('.', '!', '?', '…')) else '.'}"


class _QuickSwitching:
    """Switches threads quickly while at least one works. Used from the loop's own thread only."""

    def __init__(self) -> None:
        self._working = 0
        self._usual_s = 0.0

    @contextmanager
    def kept(self) -> Iterator[None]:
        if not self._working:
            self._usual_s = sys.getswitchinterval()
            sys.setswitchinterval(SWITCH_INTERVAL_S)
        self._working += 1
        try:
            yield
        finally:
            self._working -= 1
            if not self._working:
                sys.setswitchinterval(self._usual_s)


_quick_switching = _QuickSwitching()


async def in_thread(work: Callable[..., T], *args: Any) -> T:
    """Run slow work in a thread without delaying keystrokes."""
    with _quick_switching.kept():
        return await asyncio.to_thread(work, *args)
