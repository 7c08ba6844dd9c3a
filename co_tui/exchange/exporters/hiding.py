"""Keys in what was said stay here."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from co_tui.agent.redact import HIDDEN, redact
from co_tui.events import Event
from co_tui.events.event import decode, encode
from co_tui.events.images import image_of, image_type

MOST_IMAGE_BYTES: Final = 64_000_000

Hide = Callable[[str], str]


def without_keys(events: Iterable[Event], keys: Iterable[str], *, and_lookalikes: bool) -> Iterator[Event]:
    """The same events; in those that hold one of the keys, or what looks like a key, it is hidden."""
    hide, hide_keys = _hiding(tuple(keys), and_lookalikes), _hiding(tuple(keys), False)
    for event in events:
        encoded = encode(event)
        hidden = _hidden(encoded["payload"], hide, hide_keys)
        yield decode({**encoded, "payload": hidden}) if hidden != encoded["payload"] else event


def _hiding(keys: tuple[str, ...], and_lookalikes: bool) -> Hide:
    def hide(text: str) -> str:
        for key in keys:
            text = text.replace(key, HIDDEN)
        return redact(text) if and_lookalikes else text

    return hide


def _hidden(value: Any, hide: Hide, hide_keys: Hide) -> Any:
    """With `hide_keys` alone inside the bytes of an image, where much looks like a key and nothing is one."""
    match value:
        case str():
            return hide(value)
        case Mapping() if (image := image_of(value)) is not None and image_type(image.data(MOST_IMAGE_BYTES)):
            return {**value, "data": hide_keys(image.encoded)}
        case Mapping():
            return {hide(str(key)): _hidden(item, hide, hide_keys) for key, item in value.items()}
        case list() | tuple():
            return [_hidden(item, hide, hide_keys) for item in value]
        case _:
            return value
