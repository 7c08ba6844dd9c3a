"""Long work beside the screen, which keeps the right of way: keys are answered as if nothing else ran."""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from textual.dom import DOMNode

T = TypeVar("T")
GIVES_WAY_AFTER_S: Final = 0.0002
"""So long the screen waits for its turn while a thread works; usually far longer, and again for every step."""


class _RightOfWay:
    """The loop's own thread asks for it, so that what is under way can be counted."""

    def __init__(self) -> None:
        self._under_way = 0
        self._usual_s = 0.0

    @contextmanager
    def kept(self) -> Iterator[None]:
        if not self._under_way:
            self._usual_s = sys.getswitchinterval()
            sys.setswitchinterval(GIVES_WAY_AFTER_S)
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                sys.setswitchinterval(self._usual_s)


_right_of_way = _RightOfWay()


async def beside(work: Callable[..., T], *args: Any) -> T:
    """Run it in a thread."""
    with _right_of_way.kept():
        return await asyncio.to_thread(work, *args)


def run_latest(
    node: DOMNode, work: Callable[[], Coroutine[Any, Any, None]], group: str, *, exit_on_error: bool = False
) -> None:
    """Run it on the loop, in place of what was begun in its group before.

    A function, as a coroutine that is given up before it began would never be awaited.
    """
    node.run_worker(work, group=group, exclusive=True, exit_on_error=exit_on_error)  # type: ignore[arg-type]  # the library's types let no coroutine of ours through
