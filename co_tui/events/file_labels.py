"""Files inside messages, told in words: their bytes are never shown as text."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from co_tui.inert import one_line

T = TypeVar("T")
MEDIA_TYPE_CHARS = 40
MOST_TYPES = 3


def file_label(media_types: Sequence[str]) -> str:
    """All files of a message in one line: the kind of one, the number of several."""
    kinds = list(dict.fromkeys(one_line(each, MEDIA_TYPE_CHARS) for each in media_types))
    told = ", ".join([*kinds[:MOST_TYPES], *(["…"] if len(kinds) > MOST_TYPES else [])])
    if len(media_types) == 1:
        return f"[{told}]"
    what = "images" if all(each.startswith("image/") for each in kinds) else "files"
    return f"[{len(media_types):,} {what}: {told}]"


def joined_texts(items: Iterable[T], media_type_of: Callable[[T], str], text_of: Callable[[T], str]) -> str:
    """The texts of a content's items, a line or more for each; all its files are one line where the first one stood."""
    texts: list[str] = []
    files: list[str] = []
    place = 0
    for item in items:
        if media_type := media_type_of(item):
            place = place if files else len(texts)
            files.append(media_type)
        elif text := text_of(item):
            texts.append(text)
    return "\n".join([*texts[:place], file_label(files), *texts[place:]] if files else texts)
