"""What a program printed, as a terminal shows it: overwritten text is gone, and colours are known."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from co_tui.late_pattern import late_pattern

_ESCAPE: Final = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"
_ESCAPES: Final = late_pattern(_ESCAPE)
_STEPS: Final = late_pattern(
    r"\x1b\[(?P<colour>[0-9;:]*)m|\x1b\[(?P<erased>[012]?)K|(?P<move>[\r\x08])"
    rf"|(?P<other>{_ESCAPE})|(?P<text>\x1b|[^\x1b\r\x08]+)"
)
_OVERWRITES: Final = late_pattern(r"[\r\x08]|\x1b\[[012]?K")
LONGEST_LINE: Final = 100_000
"""A longer line is not followed character by character: what it overwrites stays."""
_NAMES: Final = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_FLAGS: Final = {1: "bold", 2: "dim", 3: "italic", 4: "underline"}
_ENDED: Final = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",)}
_FIXED: Final = (0, 95, 135, 175, 215, 255)
"""The steps of red, green and blue among the 256 colours."""


class Look(NamedTuple):
    """How text is to look. Concealment and backgrounds, which can hide it, are left out."""

    colour: str = ""
    """A name such as `red` or `bright red`, or `#rrggbb`; empty for the usual one."""
    flags: frozenset[str] = frozenset()
    """Of `bold`, `dim`, `italic` and `underline`."""


PLAIN: Final = Look()
_BLANK: Final = (" ", PLAIN)


class Coloured(NamedTuple):
    """A stretch of a text that does not look plain."""

    start: int
    end: int
    look: Look


class Printed(NamedTuple):
    """What a terminal shows in the end."""

    text: str
    colours: tuple[Coloured, ...] = ()


def without_escapes(text: str) -> str:
    """A text without the escape sequences of a terminal."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def printed(text: str) -> Printed:
    """What a terminal shows in the end. Escape sequences other than colours and erased lines stay in the text."""
    if not any(each in text for each in "\x1b\r\b"):
        return Printed(text)
    shown: list[str] = []
    colours: list[Coloured] = []
    look, at = PLAIN, 0
    for number, line in enumerate(text.split("\n")):
        if number:
            shown.append("\n")
            at += 1
        runs, look = _runs(line.rstrip("\r"), look)
        for said, own in runs:
            if own != PLAIN:
                colours.append(Coloured(at, at + len(said), own))
            shown.append(said)
            at += len(said)
    return Printed("".join(shown), tuple(colours))


def _runs(line: str, look: Look) -> tuple[list[tuple[str, Look]], Look]:
    """A line as stretches of one look each, and the look that the next line begins with."""
    overwrites = len(line) <= LONGEST_LINE and _OVERWRITES.search(line) is not None
    runs: list[tuple[str, Look]] = []
    cells: dict[int, tuple[str, Look]] = {}
    """The characters by column, if some are overwritten; all are in columns from `first` to before `end`."""
    first = end = column = 0
    waiting = ""
    for step in _STEPS.finditer(line):
        match step.lastgroup:
            case "colour":
                look = _changed(look, step["colour"])
            case "text" if overwrites:
                first = min(first, column) if cells else column
                for each in step["text"]:
                    cells[column], waiting = (waiting + each, look), ""
                    column += 1
                end = max(end, column)
            case "other" if overwrites:
                waiting += step["other"]  # takes no room: it goes with the character behind it
            case "erased" if overwrites:
                # Each column is erased once for each time it was written, so that many sequences take no longer.
                if step["erased"] == "2":
                    cells.clear()
                    end = 0
                elif step["erased"] == "1":
                    for each in range(first, min(column, end)):
                        cells.pop(each, None)
                    first = max(first, column)
                else:
                    for each in range(max(first, column), end):
                        cells.pop(each, None)
                    end = min(end, column)
            case "move" if overwrites:
                column = 0 if step["move"] == "\r" else max(0, column - 1)
            case _:
                runs.append((step[0], look))
    if overwrites:
        runs = [cells.get(each, _BLANK) for each in range(end)]
    if waiting:
        runs.append((waiting, look))
    while overwrites and runs and runs[-1] == _BLANK:
        runs.pop()
    return (list(_joined(runs)) if overwrites else runs), look


def _joined(cells: list[tuple[str, Look]]) -> Iterator[tuple[str, Look]]:
    start = 0
    for at in range(1, len(cells) + 1):
        if at == len(cells) or cells[at][1] != cells[start][1]:
            yield "".join(each for each, _ in cells[start:at]), cells[start][1]
            start = at


def _changed(look: Look, codes: str) -> Look:
    """The look after a colour sequence."""
    numbers = iter([int(each) if each and len(each) < 4 else 0 for each in codes.replace(":", ";").split(";")])
    for number in numbers:
        if number == 0:
            look = PLAIN
        elif number in _FLAGS:
            look = look._replace(flags=look.flags | {_FLAGS[number]})
        elif number in _ENDED:
            look = look._replace(flags=look.flags.difference(_ENDED[number]))
        elif 30 <= number <= 37:
            look = look._replace(colour=_NAMES[number - 30])
        elif 90 <= number <= 97:
            look = look._replace(colour=f"bright {_NAMES[number - 90]}")
        elif number == 39:
            look = look._replace(colour="")
        elif number in (38, 48):
            colour = _extended(numbers)
            look = look._replace(colour=colour) if number == 38 else look
    return look


def _extended(numbers: Iterator[int]) -> str:
    """A colour of 256, or of red, green and blue; empty if it is incomplete."""
    kind = next(numbers, 0)
    if kind == 2:
        parts = [next(numbers, 256) for _ in range(3)]
        return "#" + "".join(f"{part:02x}" for part in parts) if max(parts) < 256 else ""
    number = next(numbers, 256) if kind == 5 else 256
    if number < 8:
        return _NAMES[number]
    if number < 16:
        return f"bright {_NAMES[number - 8]}"
    if number < 232:
        red, rest = divmod(number - 16, 36)
        return "#" + "".join(f"{_FIXED[part]:02x}" for part in (red, *divmod(rest, 6)))
    return "#" + f"{8 + 10 * (number - 232):02x}" * 3 if number < 256 else ""
