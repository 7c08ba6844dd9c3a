"""What Textual looks up for every message and attribute is looked up once a process: most widgets do nothing on most
messages, and few attributes are computed.

Waiting for the screen asks only those widgets that have something to do.
"""

import asyncio
import inspect
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import Any

from textual import _callback
from textual.message import Message
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.reactive import Reactive

_handlers_of = MessagePump._get_dispatch_methods
_count = _callback._count_parameters
_wait_for_screen = Pilot._wait_for_screen
_read = Reactive.__get__
_is_computed: dict[tuple[type, str], bool] = {}
_is_handled: dict[tuple[type, str, type], bool] = {}


def look_up_once() -> None:
    MessagePump._get_dispatch_methods = _handlers
    _callback._count_parameters = _count_parameters
    Pilot._wait_for_screen = _wait_for_those_at_work
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


async def _wait_for_those_at_work(pilot: Pilot[Any], *how: Any) -> bool:
    await asyncio.sleep(0)
    if pilot.app._exception is None and all(
        map(_is_at_rest, (pilot.app, *pilot.app.screen.walk_children(with_self=True)))
    ):
        return True
    return await _wait_for_screen(pilot, *how)


def _is_at_rest(pump: MessagePump) -> bool:
    """Whether it waits for its next message."""
    queue = pump._message_queue
    is_waiting = bool(queue.ready_event._waiters)
    return is_waiting and queue.empty() and pump._pending_message is None and not pump._next_callbacks
