"""Labels for files inside messages; their bytes are never shown as text."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from co_tui.inert import one_line

T = TypeVar("T")
MEDIA_TYPE_CHARS = 40
MOST_TYPES = 3


def file_label(media_types: Sequence[str]) -> str:
    """One line for all files of a message: the media type of one, the count of several."""
    kinds = list(dict.fromkeys(one_line(each, MEDIA_TYPE_CHARS) for each in media_types))
    listed = ", ".join([*kinds[:MOST_TYPES], *(["…"] if len(kinds) > MOST_TYPES else [])])
    if len(media_types) == 1:
        return f"[{listed}]"
    what = "images" if all(each.startswith("image/") for each in kinds) else "files"
    return f"[{len(media_types):,} {what}: {listed}]"


def joined_texts(items: Iterable[T], media_type_of: Callable[[T], str], text_of: Callable[[T], str]) -> str:
    """The items' texts, one per line; one line for all files, at the position of the first."""
    texts: list[str] = []
    files: list[str] = []
    position = 0
    for item in items:
        if media_type := media_type_of(item):
            position = position if files else len(texts)
            files.append(media_type)
        elif text := text_of(item):
            texts.append(text)
    return "\n".join([*texts[:position], file_label(files), *texts[position:]] if files else texts)
