"""Read the front matter of a Markdown file: the keys between two lines of `---` at its top.

A small subset of YAML: a key with a text, a list on one line or one item a line, or a text on indented lines below.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

FENCE: Final = "---"
_KEY: Final = re.compile(r"([\w-]+):(?:\s+(.*)|)$")
_BLOCKS: Final = ("", ">", ">-", ">+", "|", "|-", "|+")
"""What may follow a key whose value is on the lines below."""
_TOOL: Final = re.compile(r"[^\s,(]+(?:\([^)]*\)?)?")


class FrontMatter(NamedTuple):
    """The keys, and the text below them."""

    values: Mapping[str, str | tuple[str, ...]]
    body: str


def read_front_matter(text: str) -> FrontMatter:
    """Parse a Markdown file. Raises ValueError, which says what is wrong."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        raise ValueError(f"it does not start with a line `{FENCE}`")
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        raise ValueError(f"it has no second line `{FENCE}` after the keys")
    return FrontMatter(dict(_values(lines[1:end])), "\n".join(lines[end + 1 :]).strip())


def tool_list(texts: Iterable[str]) -> tuple[str, ...]:
    """Tools as people list them, with commas or spaces between them: `Read, Bash(git log:*)`. One whose parenthesis is
    not closed takes in the rest, and so is none."""
    return tuple(_TOOL.findall(", ".join(texts)))


def _values(lines: Sequence[str]) -> Iterator[tuple[str, str | tuple[str, ...]]]:
    """Yield each key with its value."""
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _KEY.match(line.rstrip())
        if found is None:
            raise ValueError(f"line {at + 1} is not `key: value`")
        below = at
        while at < len(lines) and (not lines[at].strip() or lines[at][0] in " \t-"):
            at += 1
        yield found[1], _value((found[2] or "").strip(), [each.strip() for each in lines[below:at]])


def _value(inline: str, below: Sequence[str]) -> str | tuple[str, ...]:
    below = [line for line in below if line]
    if inline in _BLOCKS and below and all(line.startswith("- ") for line in below):
        return tuple(_unquoted(line[2:].strip()) for line in below)
    if inline.startswith("[") and inline.endswith("]"):
        return tuple(_unquoted(each.strip()) for each in inline[1:-1].split(",") if each.strip())
    first = [] if inline in _BLOCKS else [inline]
    return _unquoted(" ".join([*first, *below]))


def _unquoted(value: str) -> str:
    quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value
