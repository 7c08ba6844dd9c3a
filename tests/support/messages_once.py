"""What Textual looks up for every message and attribute is looked up once a process: most widgets do nothing on most
messages, and few attributes are computed.

Waiting for the screen asks only those widgets that have something to do, and ends when none has and all of it is laid
out. Textual waits for a moment in which the process does little, which a loaded machine gives it at any time.
"""

import asyncio
import inspect
import time
from collections.abc import Callable, Iterable
from itertools import count
from types import FunctionType, MethodType
from typing import Any

from textual import _callback
from textual.message import Message
from textual.message_pump import MessagePump
from textual.pilot import Pilot, WaitForScreenTimeout
from textual.reactive import Reactive
from textual.screen import Screen

from tests.support.waiting import PATIENCE_S, POLL_S

_handlers_of = MessagePump._get_dispatch_methods
_count = _callback._count_parameters
_pause = Pilot.pause
_read = Reactive.__get__
MOST_STEPS = 25
"""So many steps of the loop are waited for one by one: most messages, and tasks that they start, take fewer."""
_is_computed: dict[tuple[type, str], bool] = {}
_is_handled: dict[tuple[type, str, type], bool] = {}


def look_up_once() -> None:
    MessagePump._get_dispatch_methods = _handlers
    _callback._count_parameters = _count_parameters
    Pilot._wait_for_screen = _wait_for_those_at_work
    Pilot.pause = _pause_until_settled
    Pilot.press = _press_and_settle
    Reactive.__get__ = _value


def _value(attribute: Reactive[Any], node: Any, owner: Any) -> Any:
    if node is not None:
        key = type(node), attribute.compute_name
        if key not in _is_computed:
            _is_computed[key] = hasattr(*key)
        if not _is_computed[key] and attribute.internal_name in node.__dict__:
            return node.__dict__[attribute.internal_name]
    return _read(attribute, node, owner)


def _handlers(pump: MessagePump, name: str, message: Message) -> Iterable[Any]:
    key = type(pump), name, type(message)
    if key not in _is_handled:
        _is_handled[key] = any(_handles(each, name, type(message)) for each in type(pump).__mro__)
    return _handlers_of(pump, name, message) if _is_handled[key] else ()


def _handles(owner: type, name: str, message: type) -> bool:
    own = vars(owner)
    chosen = own.get("_decorated_handlers") or {}
    return f"_{name}" in own or name in own or any(each in chosen for each in message.__mro__)


def _count_parameters(function: Callable[..., Any]) -> int:
    plain = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(plain, FunctionType) or vars(plain):
        return _count(function)
    code = plain.__code__
    more = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + more - (plain is not function)


async def _pause_until_settled(pilot: Pilot[Any], delay: float | None = None) -> None:
    await _pause(pilot, delay)
    await _settle(pilot)


async def _press_and_settle(pilot: Pilot[Any], *keys: str) -> None:
    """Each key reaches what the ones before it opened."""
    for key in keys:
        await pilot.app._press_keys([key])
        await _settle(pilot)


async def _settle(pilot: Pilot[Any]) -> None:
    """Until the next frame would change nothing. Fails when each frame asks for another."""
    latest = time.monotonic() + PATIENCE_S
    while await _wait_for_those_at_work(pilot) and _awaits_frame(pilot.app.screen):
        if time.monotonic() > latest:
            raise WaitForScreenTimeout(f"drawn all the time: {pilot.app.screen._dirty_widgets}")
        pilot.app.screen._on_timer_update()


def _awaits_frame(screen: Screen[Any]) -> bool:
    return (
        screen.is_current
        and not screen.app._batch_count
        and bool(
            screen._layout_required
            or screen._scroll_required
            or screen._repaint_required
            or screen._recompose_required
            or screen._dirty_widgets
            or screen._callbacks
        )
    )


async def _wait_for_those_at_work(pilot: Pilot[Any], *_: Any) -> bool:
    """Whether all come to rest, with no task that could go on at once; False when the app ends or failed."""
    app, loop = pilot.app, asyncio.get_running_loop()
    latest = time.monotonic() + PATIENCE_S
    for polls in count():
        await asyncio.sleep(0 if polls < MOST_STEPS else POLL_S)
        if app._exception is not None or app._exit or app._closing or not app.screen_stack:
            return False
        pumps = (app, *app.screen.walk_children(with_self=True))
        at_work = [pump for pump in pumps if not (pump._closing or pump._closed or _is_at_rest(pump))]
        if not at_work and (not loop._ready or polls >= MOST_STEPS):
            return True
        if time.monotonic() > latest:
            raise WaitForScreenTimeout(f"at work all the time: {at_work}")
    raise AssertionError


def _is_at_rest(pump: MessagePump) -> bool:
    """Whether it waits for its next message."""
    queue = pump._message_queue
    is_waiting = bool(queue.ready_event._waiters)
    return is_waiting and queue.empty() and pump._pending_message is None and not pump._next_callbacks
