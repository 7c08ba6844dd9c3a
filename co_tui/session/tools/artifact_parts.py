"""Read parts of a text that may be as large as a disk, with little memory: pages, lines, and what matches."""

import io
import re
import time
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final, NamedTuple

from co_tui.session.tools.folder.text_search import TextSearch
from co_tui.store.search.session_words import find_phrase

PAGE_BYTES: Final = 4_000
MAX_MATCHES: Final = 40
MATCH_CHARS: Final = 400
SEARCH_S: Final = 15.0
_BLOCK_BYTES: Final = 1 << 20
_PASSAGE_CHARS: Final = 2_000
"""Words that are searched together are in one passage of about this length."""


class _Block(NamedTuple):
    """Whole lines, unless one is longer than a block."""

    line: int
    """The number of its first line."""
    text: str


class Passage(NamedTuple):
    """A passage that contains words of a search."""

    words: int
    """How many of them."""
    line: int
    """Where the first of them is."""
    text: str


def page_of(stream: BinaryIO, page: int) -> str:
    """One page with its heading. Raises ValueError that says which there are."""
    pages = max(1, -(-_size(stream) // PAGE_BYTES))
    if not 1 <= page <= pages:
        raise ValueError(f"There are pages 1 to {pages}.")
    return f"[page {page} of {pages}]\n{_text(stream, (page - 1) * PAGE_BYTES)}"


def lines_of(stream: BinaryIO, line: int) -> str:
    """About a page, from a line on. Raises ValueError that says which lines there are."""
    at, count = _start_of(stream, line)
    if at is None:
        raise ValueError(f"There are lines 1 to {count}.")
    text = _text(stream, at)
    whole = text.count("\n")
    if at + PAGE_BYTES >= _size(stream):
        return f"[from line {line} to the end]\n{text}"
    if not whole:
        return f"[line {line} is long; page={at // PAGE_BYTES + 2} continues it]\n{text}"
    shown = text[: text.rindex("\n")]
    return f"[lines {line} to {line + whole - 1}; line={line + whole} continues]\n{shown}"


def matching_lines(stream: BinaryIO, pattern: str, line: int = 1) -> str:
    """The lines from one on that contain a text, or match it as an expression, with their numbers."""
    try:
        search = TextSearch(f"(?i){pattern}")
    except ValueError:
        search = TextSearch(f"(?i){re.escape(pattern)}")
    found: list[str] = []
    for block in _blocks(stream):
        for number, text in search.matches(block.text, block.line):
            if number < line:
                continue
            if len(found) == MAX_MATCHES:
                return "\n".join([*found, f"… more lines match; line={number} continues"])
            found.append(f"{number}: {text[:MATCH_CHARS]}")
        if search.is_over:
            return "\n".join([*found, f"… the search took too long; line={block.line} continues it"])
    return "\n".join(found) or f"No line matches {pattern!r}."


def passages_with(stream: BinaryIO, words: Sequence[str], most: int, until: float) -> Iterator[Passage]:
    """The first passages with each number of words, in order; `until` is when to stop, by the monotonic clock."""
    best = dict.fromkeys(range(1, len(words) + 1), 0)
    for block in _blocks(stream):
        if time.monotonic() > until:
            return
        if not any(find_phrase(word, block.text.lower()) >= 0 for word in words):
            continue
        for line, text in _passages(block):
            lowered = text.lower()
            found = [at for word in words if (at := find_phrase(word, lowered)) >= 0]
            if found and best[len(found)] < most:
                best[len(found)] += 1
                yield Passage(len(found), line + lowered.count("\n", 0, min(found)), text)
        if best[len(words)] >= most:
            return


def _passages(block: _Block) -> Iterator[tuple[int, str]]:
    line, at = block.line, 0
    while at < len(block.text):
        end = block.text.find("\n", at + _PASSAGE_CHARS)
        end = len(block.text) if end < 0 else end + 1
        yield line, (text := block.text[at:end])
        line, at = line + text.count("\n"), end


def _blocks(stream: BinaryIO) -> Iterator[_Block]:
    stream.seek(0)
    line = 1
    while data := stream.read(_BLOCK_BYTES):
        if not data.endswith(b"\n"):
            data += stream.readline(_BLOCK_BYTES)
        yield _Block(line, data.decode(errors="replace"))
        line += data.count(b"\n")


def _start_of(stream: BinaryIO, line: int) -> tuple[int | None, int]:
    """Where a line begins, in bytes, None if there is no such line; and how many lines there are before that."""
    stream.seek(0)
    number, at = 1, 0
    while data := stream.read(_BLOCK_BYTES):
        count = data.count(b"\n")
        if number + count < line:
            number, at = number + count, at + len(data)
            continue
        inside = 0
        for _ in range(line - number):
            inside = data.index(b"\n", inside) + 1
        if at + inside < _size(stream):
            return at + inside, line
        return None, line - 1
    return (0, 1) if line == 1 and not at else (None, number)


def _size(stream: BinaryIO) -> int:
    return stream.seek(0, io.SEEK_END)


def _text(stream: BinaryIO, at: int) -> str:
    """About a page from a position on; never splits a character."""
    stream.seek(at)
    data = stream.read(PAGE_BYTES + 3)
    start, end = 0, min(PAGE_BYTES, len(data))
    while start < 3 and start < len(data) and 0x80 <= data[start] < 0xC0:
        start += 1
    while end < len(data) and 0x80 <= data[end] < 0xC0:
        end += 1
    return data[start:end].decode(errors="replace")
