"""Values as other programs write them: contents of text or blocks, counts, times."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import BinaryContent

from co_tui.events.storable import MOST_TOKENS, dump, whole_number
from co_tui.exchange.file_blocks import address_of, file_of, files_in
from co_tui.exchange.importers.foreign_files import Record

_MICROSECONDS_FROM: Final = 10**14
_MILLISECONDS_FROM: Final = 10**11
_EARLIEST: Final = datetime(1980, 1, 1, tzinfo=UTC)
_AHEAD: Final = timedelta(days=1)
"""A clock may be wrong; a session from next year would stand at the top of every list until then."""


OTHER_PARTS: Final = "other parts"
OTHER_RECORDS: Final = "other records"
HIDDEN_THINKING: Final = "hidden thinking"
SUB_AGENTS: Final = "records of sub-agents"
FILE_SNAPSHOTS: Final = "file snapshots"
ERROR_MESSAGES: Final = "error messages"
NOTICES: Final = "notices of the program"
EMPTY_REPLIES: Final = "empty replies"
"""Kinds that several programs leave out, in words for people."""
_LEFT_OUT: Final = {
    "image": "images",
    "audio": "audio",
    "document": "attached files",
    "file": "attached files",
    "encrypted": "encrypted parts",
    "thinking": HIDDEN_THINKING,
}


class Content(NamedTuple):
    """What a content says, and the images that stand in it with their bytes."""

    text: str
    images: tuple[BinaryContent, ...] = ()
    left_out: tuple[str, ...] = ()
    """The kinds of what the text names but does not hold, for people."""


def objects(value: Any) -> Iterator[Record]:
    """The objects of a list; nothing when it is none."""
    for each in value if isinstance(value, list) else ():
        if isinstance(each, dict):
            yield each


def blocks_of(content: Any) -> Iterator[Record]:
    """The blocks of a content; a plain text is one block of text."""
    for each in content if isinstance(content, list) else [content]:
        if isinstance(each, str):
            yield {"type": "text", "text": each}
        elif isinstance(each, dict):
            yield each
        elif each is not None:
            yield {}


def prompt_content(content: Any) -> Content:
    """Of a prompt."""
    blocks = list(blocks_of(content))
    images = files_in(blocks)
    return _content(_without_files(blocks) if images else blocks, images)


def result_content(value: Any) -> Content:
    """Of a result."""
    images = files_in(objects(value))
    rest = _without_files(value) if images else value
    return _content(rest, images) if _is_blocks(rest) else Content(readable(rest), images)


def _without_files(blocks: Any) -> list[Any]:
    """The blocks, with the names of documents in their places."""
    found = [(each, file_of(each)) for each in blocks]
    kept = [each if file is None else _name_of(each) if not file.is_image else "" for each, file in found]
    return [each for each in kept if each != ""]


def _name_of(block: Record) -> str:
    inside = block.get("file")
    named = (text(block.get("title")), text(block.get("filename")), *_texts_in(inside, "filename"))
    return f"[file: {name}]" if (name := next(filter(None, named), "")) else ""


def _texts_in(value: Any, key: str) -> list[str]:
    return [text(value.get(key))] if isinstance(value, dict) else []


def _content(blocks: Any, images: tuple[BinaryContent, ...]) -> Content:
    read = [_read_block(block) for block in blocks_of(blocks)]
    return Content("\n".join(said for said, _ in read if said), images, tuple(kind for _, kind in read if kind))


def text_of_blocks(content: Any) -> str:
    """All text of a content; other parts are named by their kind."""
    return _content(content, ()).text


def _read_block(block: Record) -> tuple[str, str]:
    """The text of a block, or its name in place of it and what kind is left out then."""
    for key in ("text", "refusal"):
        if isinstance(block.get(key), str):
            return str(block[key]), ""
    kind = text(block.get("type"))
    if address := address_of(block):
        return f"[{kind if kind == 'document' else 'image'}: {address}]", ""
    source = block.get("source")
    if kind == "search_result" and isinstance(source, str):  # a page that was given to the model
        heading = ", ".join(filter(None, (text(block.get("title")), source)))
        return "\n".join(filter(None, (f"[{kind}: {heading}]", text_of_blocks(block.get("content"))))), ""
    source = source if isinstance(source, dict) else {}
    name = text(block.get("title")) or text(block.get("mimeType") or block.get("mime") or block.get("filename"))
    if source.get("type") == "text" and text(source.get("data")):
        return "\n".join(filter(None, (f"[{kind}: {name}]" if name else "", source["data"]))), ""
    if source.get("type") == "content" and (said := text_of_blocks(source.get("content"))):
        return "\n".join(filter(None, (f"[{kind}: {name}]" if name else "", said))), ""
    name = text(source.get("media_type")) or name
    label = f"[{kind}{f': {name}' if name else ''}]" if kind not in ("", "text", "encrypted_content") else ""
    return label, _kind_left_out(kind, name)


def _kind_left_out(kind: str, name: str) -> str:
    """In words for people: what a block of this type holds that is not text."""
    if kind == "text":
        return ""
    known = (word for sign, word in _LEFT_OUT.items() if sign in kind or name.startswith(f"{sign}/"))
    return next(known, OTHER_PARTS)


def beginning(messages: list[Record], is_prompt: Callable[[Record], bool]) -> str:
    """What a conversation without an id is known by: all up to its first prompt, which stays when it grows."""
    first = next((number for number, message in enumerate(messages) if is_prompt(message)), len(messages))
    return readable(messages[: first + 1])


def is_user(message: Record) -> bool:
    return message.get("role") == "user"


def text(value: Any) -> str:
    """The value if it is a text, else nothing."""
    return value if isinstance(value, str) else ""


def readable(value: Any) -> str:
    """A result as text: itself, the text of its blocks, or JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return text_of_blocks(value) if _is_blocks(value) else dump(value)


def _is_blocks(value: Any) -> bool:
    """Whether it is a block, or texts and blocks only; other data is read as JSON."""
    each = value if isinstance(value, list) else [value]
    return all(isinstance(one, str) or (isinstance(one, dict) and isinstance(one.get("type"), str)) for one in each)


def count(record: Any, *keys: str) -> int:
    """The first of these keys that holds a count; 0 when none does."""
    for key in keys:
        if isinstance(record, dict) and (found := whole_number(record.get(key), MOST_TOKENS)):
            return found
    return 0


def read_time(value: Any) -> datetime | None:
    """An ISO text, or seconds, milli- or microseconds since 1970; None for what cannot be the time of a session."""
    try:
        moment = _moment(value)
    except (ValueError, OverflowError, OSError):
        return None
    if moment is None or not _EARLIEST <= moment <= datetime.now(UTC) + _AHEAD:
        return None
    return moment


def _moment(value: Any) -> datetime | None:
    if isinstance(value, str) and len(value) <= 64:
        read = datetime.fromisoformat(value)
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    unit = 1_000_000 if value >= _MICROSECONDS_FROM else 1_000 if value >= _MILLISECONDS_FROM else 1
    return datetime.fromtimestamp(value / unit, UTC)
