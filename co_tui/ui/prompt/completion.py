"""What fits what is being typed, commands or files, and which of it is meant. Knows no screen."""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeAlias

from co_tui.session.file_references import reference
from co_tui.ui.keys import command_table
from co_tui.ui.prompt.file_matching import FileNames

Sort: TypeAlias = Literal["command", "file"]
MOST_LETTERS = 200
"""What is longer is no name that somebody looks for."""


class Choice(NamedTuple):
    """One of the things on offer."""

    sort: Sort
    name: str
    """A command's, or a file's path."""
    title: str
    arguments: str = ""
    help: str = ""


class _Typed(NamedTuple):
    """What is being typed that can be completed."""

    sort: Sort
    letters: str
    length: int
    """Of all that a choice takes the place of, before the cursor."""
    place: str
    """The same for as long as the same thing is being typed."""


class SoughtFile(NamedTuple):
    """A file that is being named, and the files among which it is sought."""

    typed: _Typed
    files: FileNames

    def find(self, wanted: Callable[[], bool] = lambda: True) -> list[str]:
        """Takes a while in a large folder, and gives up when nobody waits any more."""
        return self.files.matching(self.typed.letters, wanted)


class CompletionOffer:
    """Follows the prompt at once, so that keys pressed in a burst mean what they say.

    Commands are few, and found with every key. Files may be many: they are looked for beside the screen, and only
    when a key needs to know, at once.
    """

    def __init__(self) -> None:
        self.files = FileNames()
        self.found: list[Choice] = []
        self.index = 0
        self._typed: _Typed | None = None
        self._found_for: SoughtFile | None = None
        """What the files on offer were found for."""
        self._dismissed = ""
        """Where nothing more is wanted."""

    def update(self, text: str, before: str = "") -> bool:
        """Take the prompt as it is now, `before` the cursor in its line; returns whether anything is on offer."""
        typed = _command_in(text) or _file_in(before)
        if typed != self._typed:
            self._typed = typed
            if typed is None or typed.sort == "command":
                self._offer(_commands(typed.letters) if typed is not None else [])
            elif self.found and self.found[0].sort != "file":
                self._offer([])
        return self.is_open

    @property
    def sought(self) -> SoughtFile | None:
        """The file that is being named, as long as nobody looked for it; None when there is nothing to look for."""
        if self._typed is None or self._typed.sort != "file" or self._is_dismissed:
            return None
        sought = SoughtFile(self._typed, self.files)
        return sought if sought != self._found_for else None

    def take(self, sought: SoughtFile, paths: Iterable[str]) -> None:
        """Offer the files that were found; what was found for something else comes too late."""
        if sought.typed == self._typed:
            self._found_for = sought
            self._offer([_file(path) for path in paths])

    def look(self) -> None:
        """Look now for the file that is being named, if nobody did."""
        if (sought := self.sought) is not None:
            self.take(sought, sought.find())

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
        """How many characters before the cursor a chosen file takes the place of."""
        return self._typed.length if self._typed is not None else 0

    def move(self, step: int) -> None:
        self.index = (self.index + step) % len(self.found)

    def dismiss(self) -> None:
        """Offer nothing until something else is typed."""
        self._dismissed = self._typed.place if self._typed is not None else ""

    def _offer(self, found: list[Choice]) -> None:
        if found != self.found:
            self.found, self.index = found, 0


def _command_in(text: str) -> _Typed | None:
    if not text.startswith("/") or " " in text or "\n" in text:
        return None
    return _Typed("command", text, len(text), text)


def _file_in(before: str) -> _Typed | None:
    """The name after the last `@`, when that begins a word and the cursor stands right behind."""
    at = before.rfind("@")
    name = before[at + 1 :]
    if at < 0 or len(name) > MOST_LETTERS or (at and before[at - 1] not in " \t([{<\"'"):
        return None
    letters = name[1:] if name.startswith('"') else name
    if '"' in letters or (letters is name and any(each.isspace() or each == "`" for each in name)):
        return None
    return _Typed("file", letters, len(before) - at, before[: at + 1])


def _commands(letters: str) -> list[Choice]:
    found = command_table.starting_with(letters)
    return [Choice("command", each.name, each.slash, each.arguments, each.help) for each in found]


def _file(path: str) -> Choice:
    folder, _, name = path.rpartition("/")
    return Choice("file", path, name, help=folder)


def inserted(choice: Choice) -> str:
    """What a chosen file is in the prompt."""
    return f"{reference(choice.name)} "
