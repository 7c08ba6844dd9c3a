"""Completions of the command, its value or the file being typed. Independent of the screen."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from co_tui.actions import SlashCommand
from co_tui.late_pattern import late_pattern
from co_tui.session.file_references import reference
from co_tui.session.slash import typed_command
from co_tui.ui.keys import command_table

MAX_FOUND: Final = 50
SLICE: Final = 2_000
"""Names matched between two checks for cancellation."""

Fits = Callable[[str], object]

_WORD: Final = late_pattern(r"(?<!\S)(?:--)?[a-z]+\b|(?<=\[)(?:--)?[a-z]+\b")
_NAMED: Final = late_pattern(r"[A-Z]")

Sort: TypeAlias = Literal["command", "value", "file"]
MAX_LETTERS = 200
"""Longer text is not completed."""


class Choice(NamedTuple):
    """One completion."""

    sort: Sort
    name: str
    """The command's name, the value or the file's path."""
    title: str
    arguments: str = ""
    help: str = ""


class _Typed(NamedTuple):
    """The text being completed."""

    sort: Sort
    letters: str
    length: int
    """Characters before the cursor that a choice replaces."""
    place: str
    """Identifies the word being typed; stays the same while it grows."""


class FileNames:
    """The files of a folder, most recent first, then its folders, prepared for searching."""

    def __init__(self, paths: Sequence[str] = ()) -> None:
        self.paths = tuple(paths)
        self._known = frozenset(path for path in self.paths if not path.endswith("/"))
        self._lowered = [path.lower() for path in self.paths]
        self._names = [path[path.rfind("/", 0, -1) + 1 :] for path in self._lowered]

    def matching(self, letters: str, wanted: Callable[[], bool] = lambda: True) -> list[str]:
        """At most `MAX_FOUND` paths: contiguous matches before scattered ones, in the file name before the folders,
        then the most recent. None when the letters are a whole path, or `wanted` turns False.
        """
        if letters in self._known:
            return []
        if not letters:
            return list(self.paths[:MAX_FOUND])
        found: dict[int, None] = {}
        for texts, fits in self._ways(letters.lower()):
            for start in range(0, len(texts), SLICE):
                if not wanted():
                    return []
                some = texts[start : start + SLICE]
                found.update((n, None) for n, text in enumerate(some, start) if fits(text))
                if len(found) >= MAX_FOUND:
                    return [self.paths[n] for n in found][:MAX_FOUND]
        return [self.paths[n] for n in found]

    def _ways(self, sought: str) -> Iterator[tuple[list[str], Fits]]:
        """The texts and tests to try, best match first."""
        yield self._names, sought.__eq__
        yield self._names, lambda name: name.startswith(sought)
        yield self._names, lambda name: sought in name
        yield self._lowered, lambda path: sought in path
        in_order = _in_order(sought)
        yield self._names, in_order
        yield self._lowered, in_order


def _in_order(sought: str) -> Fits:
    """Matches the letters in order with anything in between, in linear time."""
    first, *rest = map(re.escape, sought)
    return re.compile(first + "".join(f"[^{each}]*{each}" for each in rest), re.DOTALL).search


class FileSearch(NamedTuple):
    """A file name being typed, and the files to search."""

    typed: _Typed
    files: FileNames

    def find(self, wanted: Callable[[], bool] = lambda: True) -> list[str]:
        """Matching paths; slow in a large folder, and stops early when `wanted` turns False."""
        return self.files.matching(self.typed.letters, wanted)


class CompletionOffer:
    """Follows the prompt synchronously, so that keys typed in a burst act on the right completion.

    Commands are few and matched on every key. Files may be many: they are matched in the background, or at once
    when a key needs them.
    """

    def __init__(self) -> None:
        self.files = FileNames()
        self.commands: Sequence[SlashCommand] = ()
        """Commands from files and servers."""
        self.resources: Mapping[str, str] = {}
        """Those of the files that are resources of MCP servers, with their titles."""
        self.found: list[Choice] = []
        self.index = 0
        self._typed: _Typed | None = None
        self._found_for: FileSearch | None = None
        """The search whose results are shown."""
        self._dismissed = ""
        """The word for which completions were dismissed."""
        self.values_of: Callable[[str], ArgumentValues] = argument_values
        """The values that a command takes."""
        self._values: tuple[str, ArgumentValues] = ("", NO_VALUES)
        """A command and its values, read once while one of them is typed."""
        self._has_moved = False

    def update(self, text: str, before: str = "") -> bool:
        """Update for the prompt and the text `before` the cursor in its line; returns whether there are completions."""
        typed = _command_in(text) or self._value_in(text) or _file_in(before)
        if typed != self._typed:
            self._typed, self._has_moved = typed, False
            if typed is None or typed.sort != "file":
                self._offer(self._choices(typed) if typed is not None else [])
            elif self.found and self.found[0].sort != "file":
                self._offer([])
        return self.is_open

    def _choices(self, typed: _Typed) -> list[Choice]:
        if typed.sort == "command":
            return _commands(typed.letters, self.commands)
        found = self._values[1].starting_with(typed.letters)
        return [Choice("value", each.name, each.name, help=each.help) for each in found]

    def _value_in(self, text: str) -> _Typed | None:
        """The first word after a command that takes certain values."""
        command, space, letters = text[:MAX_LETTERS].partition(" ") if text.startswith("/") else ("", "", "")
        if not space or len(text) > MAX_LETTERS or any(each.isspace() for each in letters):
            self._values = ("", NO_VALUES)
            return None
        if self._values[0] != command:
            self._values = (command, self.values_of(command[1:]))
        return _Typed("value", letters, len(letters), f"{command} ") if self._values[1].values else None

    @property
    def runs_on_enter(self) -> bool:
        """Whether Enter runs the chosen command or value; a value that is not typed nor moved to is left alone."""
        if self._typed is None or self._typed.sort != "value":
            return self._typed is not None and self._typed.sort == "command"
        return self._has_moved or (bool(self._typed.letters) and self._values[1].is_closed)

    @property
    def with_value(self) -> str:
        """The command with the chosen value."""
        return f"{self._typed.place}{self.found[self.index].name}" if self._typed is not None and self.found else ""

    def use_commands(self, own: Sequence[SlashCommand]) -> None:
        """Offer these commands in addition to the built-in ones."""
        if own != self.commands:
            self.commands = own
            self._typed = None  # what is offered for the same text may change

    @property
    def pending_search(self) -> FileSearch | None:
        """The file search still to be done; None when there is none."""
        if self._typed is None or self._typed.sort != "file" or self._is_dismissed:
            return None
        pending_search = FileSearch(self._typed, self.files)
        return pending_search if pending_search != self._found_for else None

    def take(self, pending_search: FileSearch, paths: Iterable[str]) -> None:
        """Show the files found, unless the text has changed since."""
        if pending_search.typed == self._typed:
            self._found_for = pending_search
            self._offer([self._file(path) for path in paths])

    def search(self) -> None:
        """Do the pending file search now."""
        if (pending_search := self.pending_search) is not None:
            self.take(pending_search, pending_search.find())

    @property
    def is_open(self) -> bool:
        return bool(self.found) and self._typed is not None and not self._is_dismissed

    @property
    def _is_dismissed(self) -> bool:
        return self._typed is not None and self._typed.place == self._dismissed

    @property
    def chosen(self) -> Choice | None:
        return self.found[self.index] if self.is_open else None

    @property
    def length(self) -> int:
        """Characters before the cursor that a chosen file replaces."""
        return self._typed.length if self._typed is not None else 0

    def move(self, step: int) -> None:
        self.index, self._has_moved = (self.index + step) % len(self.found), True

    def dismiss(self) -> None:
        """Show no completions for the current word."""
        self._dismissed = self._typed.place if self._typed is not None else ""

    def _file(self, path: str) -> Choice:
        if path in self.resources:
            return Choice("file", path, path, help=self.resources[path])
        folder, _, name = path.rstrip("/").rpartition("/")
        return Choice("file", path, f"{name}/" if path.endswith("/") else name, help=folder)

    def _offer(self, found: list[Choice]) -> None:
        if found != self.found:
            self.found, self.index = found, 0


def _command_in(text: str) -> _Typed | None:
    if not text.startswith("/") or " " in text or "\n" in text:
        return None
    return _Typed("command", text, len(text), text)


def _file_in(before: str) -> _Typed | None:
    """The name between the last `@` that begins a word and the cursor."""
    at = before.rfind("@")
    name = before[at + 1 :]
    if at < 0 or len(name) > MAX_LETTERS or (at and before[at - 1] not in " \t([{<\"'"):
        return None
    letters = name[1:] if name.startswith('"') else name
    if '"' in letters or (letters is name and any(each.isspace() or each == "`" for each in name)):
        return None
    return _Typed("file", letters, len(before) - at, before[: at + 1])


def _commands(letters: str, own: Sequence[SlashCommand]) -> list[Choice]:
    found = command_table.starting_with(letters, own)
    return [Choice("command", each.name, each.slash, each.arguments, _described(each)) for each in found]


def _described(command: SlashCommand) -> str:
    return f"{command.help} ({command.source})" if command.source else command.help


def inserted(choice: Choice) -> str:
    """The text that a chosen file inserts."""
    return f"{reference(choice.name)} "


class ArgumentValue(NamedTuple):
    name: str
    help: str = ""


class ArgumentValues(NamedTuple):
    """What may follow a command."""

    values: tuple[ArgumentValue, ...] = ()
    is_closed: bool = True
    """Whether it takes nothing else."""

    def starting_with(self, letters: str) -> list[ArgumentValue]:
        """An exact match comes first; nothing if it is the only one."""
        found = [value for value in self.values if value.name.startswith(letters)]
        found.sort(key=lambda value: value.name != letters)
        return found if [value.name for value in found] != [letters] else []


NO_VALUES: Final = ArgumentValues()


def argument_values(name: str) -> ArgumentValues:
    """The values that the table of commands names, as in "[instructions | clear]"; capitals mean anything."""
    command = typed_command.find(name)
    arguments = command.arguments if command is not None else ""
    words = tuple(ArgumentValue(word) for word in _WORD.findall(arguments))
    return ArgumentValues(words, is_closed=not _NAMED.search(arguments))
