"""The only module that starts background work for the screen. A failure is shown and ends nothing else."""

import asyncio
import inspect
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

from textual.dom import DOMNode

from co_tui.inert import one_line
from co_tui.store.store_errors import StoreError
from co_tui.ui.textual_internals import is_being_removed

T = TypeVar("T")
SWITCH_INTERVAL_S: Final = 0.0002
"""Thread switch interval while background work runs; Python's default of 5 ms makes typing lag."""
ERROR_CHARS: Final = 200


@runtime_checkable
class ShowsFailures(Protocol):
    """The app: shows a failure, and keeps it for a bug report."""

    def background_failed(self, sentence: str, error: Exception, *, once: bool = False) -> None:
        """`once`: do not repeat the same sentence."""
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
    """Run a coroutine on the event loop until it ends or its node is removed.

    `doing` names the work, as in "Searching failed". `latest` cancels earlier work of the same group. `failed` resets
    what waits for the work. It takes a function, because a coroutine cancelled before it starts is never awaited.
    """

    async def guarded() -> None:
        try:
            await work()
        except Exception as error:
            report(node, doing, error, failed)

    # Textual's types reject coroutine functions.
    node.run_worker(guarded, group=group, exclusive=latest, exit_on_error=False)  # type: ignore[arg-type]


def cancel_background(node: DOMNode, group: str) -> None:
    """Cancel a node's background work of a group."""
    node.workers.cancel_group(node, group)


def run_thread(node: DOMNode, doing: str, work: Callable[[], object], *, group: str) -> None:
    """Run a function in its own thread."""

    def guarded() -> None:
        try:
            work()
        except Exception as error:
            node.app.call_later(report, node, doing, error)

    node.run_worker(guarded, thread=True, group=group, exit_on_error=False)


def guarded_callback(
    node: DOMNode, doing: str, work: Callable[..., object], *, once: bool = False
) -> Callable[..., Coroutine[Any, Any, None]]:
    """Wrap a callback for `call_later` and timers: a failure is shown instead of ending the app.

    `once` is for repeated callbacks, which would otherwise show the same failure each time.
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
    """Start a task that its starter awaits, where a failure is raised; if it never does, the failure is ignored."""
    task = asyncio.create_task(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task


def report(
    node: DOMNode, doing: str, error: Exception, failed: Callable[[], object] | None = None, *, once: bool = False
) -> None:
    """Show a failure, and reset what waited for the work. A screen that is closed, or closing, reports nothing."""
    app = node.app
    if not node.is_attached or is_being_removed(node) or not app.is_running:
        return
    if isinstance(app, ShowsFailures):
        app.background_failed(failure_sentence(doing, error), error, once=once)
    else:
        app.notify(failure_sentence(doing, error), severity="error", markup=False)
    if failed is not None:
        try:
            failed()
        except Exception as another:
            report(node, f"Recovered from: {doing}", another)


def failure_sentence(doing: str, error: Exception) -> str:
    """What failed, and how; a `StoreError` is already a sentence for users."""
    detail = one_line(str(error), ERROR_CHARS)
    if not isinstance(error, StoreError):
        detail = f"{type(error).__name__}: {detail}" if detail else type(error).__name__
    return f"{doing} failed: {detail}{'' if detail.endswith(('.', '!', '?', '…')) else '.'}"


class _QuickSwitching:
    """Shortens the thread switch interval while any thread works. Used from the loop's thread only."""

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


async def in_own_thread(work: Callable[..., T], *args: Any) -> T:
    """The same for work that may hang, as on a network: it takes no thread from other work, and the app can end."""
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()  # the thread goes on when its caller is cancelled

    def run() -> None:
        try:
            answer = work(*args)
        except BaseException as error:
            done.set_exception(error)
        else:
            done.set_result(answer)

    with _quick_switching.kept():
        threading.Thread(target=run, name="screen-work", daemon=True).start()
        return await asyncio.wrap_future(done)
