"""Read the words of a command as the program's own parser does: long, short, glued and joined options, and `--`."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, Literal, NamedTuple

KINDS: Final = {
    "any": r"(?s:.*)",
    "number": r"[+-]?\d+[bkKMGT]?",
    "word": r"[\w-]+",
    "path": r"(?s:[^@].*)",  # must be inside the folder
    "target": r"(?s:[^-@].*)",  # is shown in the rule
    # Excludes `%G…` and `%(signature)`, which start another program.
    "format": r"(?:(?!%[-+ ]?G|signature)(?s:.))*",
}


class Use(NamedTuple):
    """A way to use a program: the options and operands with which it is harmless."""

    options: str = ""
    """Words: `-abc` are letters without a value, `--name` has none, `--name:KIND` takes one, glued or as the next word,
    `--name:?KIND` only a glued one or none, and `--name=` is short for `--name:?any`. A kind is a name in `KINDS` or a
    pattern. A kept rule shows options after `!`, with which a command does more, and after `^`, with which it does
    less.
    """
    operands: str = "paths"
    """What the other words are: `paths` in the folder, `names` (without wildcards), `tests` (perhaps with `::name`),
    `files` (two to compare), `text`, `modules`, `none`, `targets` and `packages` (shown in the rule), `expression` or
    `filter` (one, then paths), `revisions` (of git, or paths), `anything` (options too), or the name of a check."""
    most: int | None = None
    """The maximum number of operands."""
    digits: bool = False
    """Whether `-5` is an option."""
    form: Literal["joined", "glued", "apart", "single"] = "joined"
    """How short options are written: `-rn`; `-n5` but no joined letters; never joined; or long names after one dash."""
    finds_files: str = ""
    """Options that make it read files it finds by itself; `*` for always."""
    after: str = ""
    """The pattern of words after `--`, if those are not operands."""


class Program(NamedTuple):
    """A program, or one of its subcommands."""

    reads: Use | None = None
    keeps: Use | None = None
    """What a kept rule admits besides the words it shows; None to keep only exact lines."""
    dangers: Mapping[str, str] = {}
    """Why it cannot be undone or affects others → when: always, with one of these options, `--`, a FILE, or an operand
    that matches a pattern after `/`."""


DELETES: Final = "deletes files"
OVERWRITES: Final = "overwrites data"
BECOMES: Final = "runs as another user"
STOPS: Final = "stops processes"
CHANGES_MODES: Final = "changes many permissions"
CONFIGURES_GIT: Final = "changes git's configuration"
DISCARDS: Final = "discards work"
REWRITES: Final = "overwrites the remote's history"
SENDS: Final = "publishes or sends to others"


def reads(options: str = "", operands: str = "paths", **more: object) -> Program:
    return Program(reads=Use(options, operands, **more))  # type: ignore[arg-type]


def keeps(options: str = "", operands: str = "paths", **more: object) -> Program:
    return Program(keeps=Use(options, operands, **more))  # type: ignore[arg-type]


def always(why: str, *names: str) -> dict[str, Program]:
    return dict.fromkeys(names, Program(dangers={why: ""}))


class Option(NamedTuple):
    """An option of a command."""

    name: str
    value: str = ""
    kind: str = ""
    marker: str = ""
    """`!` or `^`, see `Use`."""


class Given(NamedTuple):
    """The options and operands of a command."""

    options: list[Option]
    operands: list[str]
    after: list[str] | None = None
    """The words after `--`, if there is one."""

    @property
    def names(self) -> set[str]:
        return {option.name for option in self.options}


class _Value(NamedTuple):
    kind: str
    pattern: str
    is_optional: bool


class _Known(NamedTuple):
    """The options of a use."""

    plain: Mapping[str, str]
    """Name → marker."""
    valued: Mapping[str, _Value]
    is_whole: bool
    """Whether an option after one dash is one name."""


@cache
def _known(use: Use) -> _Known:
    plain: dict[str, str] = {}
    valued: dict[str, _Value] = {}
    is_whole = use.form in ("apart", "single")
    for word in use.options.split():
        marker = word[0] if word[0] in "!^" else ""
        name, colon, kind = word.removeprefix(marker).partition(":")
        if name.endswith("="):
            name, colon, kind = name[:-1], ":", "?any"
        if colon:
            optional = kind.startswith("?")
            kind = kind.removeprefix("?")
            valued[name] = _Value(kind, KINDS.get(kind, kind), optional)
        else:
            names = [name] if name.startswith("--") or is_whole else [f"-{letter}" for letter in name[1:]]
            plain |= dict.fromkeys(names, marker)
    return _Known(plain, valued, is_whole)


def read_words(use: Use, words: Sequence[str], *, strict: bool = True) -> Given | None:
    """The options and operands of a command; None for an option that is not listed, unless not `strict`."""
    return _Parser(use, words, strict=strict).result()


class _Parser:
    def __init__(self, use: Use, words: Sequence[str], *, strict: bool) -> None:
        self._use, self._known, self._strict = use, _known(use), strict
        self._rest = list(words)
        self._options: list[Option] = []

    def result(self) -> Given | None:
        operands: list[str] = []
        after: list[str] | None = None
        while self._rest:
            word = self._rest.pop(0)
            if word == "--":
                after, self._rest = self._rest, []
                operands += [] if self._use.after else after
            elif not word.startswith("-") or word == "-":
                operands.append(word)
            elif not self._read(word):
                return None
        is_harmless = not self._use.after or all(re.fullmatch(self._use.after, each) for each in after or ())
        if self._strict and not is_harmless:
            return None
        return Given(self._options, operands, after)

    def _read(self, word: str) -> bool:
        if self._use.digits and re.fullmatch(r"-\d+", word):
            self._options.append(Option(word))
            return True
        if word.startswith("--") or self._known.is_whole:
            return self._long(word)
        return self._short(word)

    def _long(self, word: str) -> bool:
        """An option like `--name` or `--name=value`."""
        name, equals, value = word.partition("=")
        if self._use.form == "single":
            name = f"-{name.lstrip('-')}"
        if (known := self._known.valued.get(name)) is not None:
            return self._take(name, known, value if equals else None)
        if name in self._known.plain and not equals:
            self._options.append(Option(name, marker=self._known.plain[name]))
            return True
        self._options.append(Option(name, value))
        return not self._strict

    def _short(self, word: str) -> bool:
        """The options in a word like `-rn`, `-A3` or `-xvalue`."""
        valued = self._known.valued
        if self._strict and self._use.form == "glued" and len(word) > 2 and word[:2] not in valued:
            return False
        for at, letter in enumerate(word[1:], 1):
            name = f"-{letter}"
            if (known := valued.get(name)) is not None:
                return self._take(name, known, word[at + 1 :] or None)
            self._options.append(Option(name, marker=self._known.plain.get(name, "")))
            if self._strict and name not in self._known.plain:
                return False
        return True

    def _take(self, name: str, known: _Value, value: str | None) -> bool:
        """Add an option with its value: not a next word like an option, which the program may take for one."""
        if value is None and not known.is_optional:
            if self._strict and (not self._rest or self._rest[0].startswith("-")):
                return False
            value = self._rest.pop(0) if self._rest else ""
        self._options.append(Option(name, value or "", known.kind))
        return not self._strict or value is None or re.fullmatch(known.pattern, value) is not None
