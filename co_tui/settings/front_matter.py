"""What stands between two lines of `---` at the top of a Markdown file, as far as people write it there.

No YAML: keys with a text, a list in one line or one item a line, or a text on the indented lines below.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

FENCE: Final = "---"
_KEY: Final = re.compile(r"([\w-]+):(?:\s+(.*)|)$")
_BLOCKS: Final = ("", ">", ">-", ">+", "|", "|-", "|+")
"""What may stand behind a key whose value is on the lines below."""


class FrontMatter(NamedTuple):
    """The keys at the top, and all that stands below them."""

    values: Mapping[str, str | tuple[str, ...]]
    body: str


def read_front_matter(text: str) -> FrontMatter:
    """Raises ValueError, which says what is wrong with it."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        raise ValueError(f"it does not begin with a line of `{FENCE}`")
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        raise ValueError(f"there is no second line of `{FENCE}` below the keys")
    return FrontMatter(dict(_values(lines[1:end])), "\n".join(lines[end + 1 :]).strip())


def _values(lines: Sequence[str]) -> Iterator[tuple[str, str | tuple[str, ...]]]:
    """Each key with its value."""
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _KEY.match(line.rstrip())
        if found is None:
            raise ValueError(f"line {place + 1} is no `key: value`")
        below = place
        while place < len(lines) and (not lines[place].strip() or lines[place][0] in " \t-"):
            place += 1
        yield found[1], _value((found[2] or "").strip(), [each.strip() for each in lines[below:place]])


def _value(beside: str, below: Sequence[str]) -> str | tuple[str, ...]:
    below = [line for line in below if line]
    if beside in _BLOCKS and below and all(line.startswith("- ") for line in below):
        return tuple(_unquoted(line[2:].strip()) for line in below)
    if beside.startswith("[") and beside.endswith("]"):
        return tuple(_unquoted(each.strip()) for each in beside[1:-1].split(",") if each.strip())
    first = [] if beside in _BLOCKS else [beside]
    return _unquoted(" ".join([*first, *below]))


def _unquoted(value: str) -> str:
    quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value
