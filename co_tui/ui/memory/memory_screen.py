"""The daily memory: what left the context, by day, filtered while typing."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from co_tui.inert import inert, one_line
from co_tui.store.notes.memory_text import MemoryEntry
from co_tui.ui.dialogs.dialog import show_rows
from co_tui.ui.dialogs.filter_dialog import FilteringDialog
from co_tui.ui.timeline.detail_screen import TextScreen
from co_tui.ui.widgets.field import Field
from co_tui.ui.widgets.key_hints import KeyHints
from co_tui.ui.widgets.safe_list import SafeList

MOST_SHOWN = 300
GIST_CHARS = 200
GIST_LINES = 6
MARK = "reverse"
NO_MATCH = "No entry matches."
NOTHING_YET = "No entries yet. Summaries of what leaves the context appear here, by day."
KEYS = (
    ("enter", "open"),
    ("ctrl+o", "session"),
    ("ctrl+d", "delete"),
    ("ctrl+z", "restore"),
    ("esc", "back"),
)

Change = Callable[[MemoryEntry], Awaitable[str]]
"""Returns what went wrong, in a sentence; empty on success."""


class MemoryScreen(FilteringDialog[str]):
    """Lists entries that contain all words of the filter, newest first. Answers with the id of a session to open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Back", priority=True),
        Binding("ctrl+o", "resume", "Session", priority=True),
        Binding("ctrl+d", "delete", "Delete", priority=True),
        Binding("ctrl+z", "restore", "Restore", priority=True),
    ]

    def __init__(self, entries: Sequence[MemoryEntry], words: str, *, delete: Change, restore: Change) -> None:
        super().__init__()
        self._entries = [(entry, entry.searched) for entry in entries]
        self._words = words
        self._delete, self._restore = delete, restore
        self._shown: dict[str, MemoryEntry] = {}
        self._deleted: list[tuple[int, tuple[MemoryEntry, str]]] = []
        """Each with its former index."""

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Memory"
            yield Field(self._words, placeholder="Type to search")
            yield SafeList(classes="-filling")
            yield KeyHints(*KEYS)

    def on_mount(self) -> None:
        self._fill()
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _fill(self, _: Input.Changed | None = None, *, at: int | None = None) -> None:
        words = self.query_one(Input).value.lower().split()
        found = [entry for entry, searched in self._entries if all(word in searched for word in words)]
        self.query_one(Vertical).border_subtitle = _count(len(found), len(self._entries)) if words else ""
        shown = found[:MOST_SHOWN]
        self._shown = {str(row): entry for row, entry in enumerate(shown)}
        options = self.query_one(OptionList)
        show_rows(options, _options(shown, words), NO_MATCH if self._entries else NOTHING_YET)
        entries = [n for n in range(options.option_count) if options.get_option_at_index(n).id]
        following = [n for n in entries if n >= (at or 0)]
        options.highlighted = next(iter(following or entries[-1:]), None)
        self.query_one(KeyHints).show(*(KEYS if self._entries or self._deleted else KEYS[-1:]))

    @property
    def _chosen(self) -> MemoryEntry | None:
        options = self.query_one(OptionList)
        at = options.highlighted
        return None if at is None else self._shown.get(options.get_option_at_index(at).id or "")

    @on(OptionList.OptionSelected)
    @on(Input.Submitted)
    def _open(self) -> None:
        if (entry := self._chosen) is not None:
            words = self.query_one(Input).value.lower().split()
            title = f"{entry.day} {entry.time} · {one_line(entry.heading, 60)}"
            origin = f"\n\nSession {inert(entry.session_id)}" if entry.session_id else ""
            self.app.push_screen(TextScreen(title, _marked(inert(entry.text) + origin, words)))

    def action_resume(self) -> None:
        if (entry := self._chosen) is None or not entry.session_id:
            self._say("No session recorded for this entry.")
        else:
            self.answer(entry.session_id)

    async def action_delete(self) -> None:
        entry, at = self._chosen, self.query_one(OptionList).highlighted
        if entry is None:
            return
        if trouble := await self._delete(entry):
            self._say(trouble)
            return
        index = next(n for n, (each, _) in enumerate(self._entries) if each is entry)
        self._deleted.append((index, self._entries.pop(index)))
        self._fill(at=at)
        self._say("Deleted. Ctrl+Z restores it.")

    async def action_restore(self) -> None:
        if not self._deleted:
            self._say("Nothing to restore.")
            return
        index, deleted = self._deleted[-1]
        if trouble := await self._restore(deleted[0]):
            self._say(trouble)
            return
        self._deleted.pop()
        self._entries.insert(index, deleted)
        self._fill()
        self._say("Restored.")

    def _say(self, words: str) -> None:
        self.notify(words, markup=False, timeout=4)


def _count(found: int, all_: int) -> str:
    return f"{found:,} of {all_:,}"


def _options(entries: Sequence[MemoryEntry], words: Sequence[str]) -> list[Option]:
    options: list[Option] = []
    day = ""
    for number, entry in enumerate(entries):
        if entry.day != day:
            day = entry.day
            options.append(Option(Text(day, style="bold"), disabled=True))
        # Not the entry's own id: a section that was copied by hand has the same.
        options.append(Option(_row(entry, words), id=str(number)))
    return options


def _row(entry: MemoryEntry, words: Sequence[str]) -> Text:
    row = Text(f"{entry.time:>5}  ", no_wrap=True, overflow="ellipsis")
    row.append_text(_marked(one_line(entry.heading, GIST_CHARS), words))
    row.append("\n       ")
    row.append_text(_marked(_gist(entry.text, words), words, "dim"))
    return row


def _gist(text: str, words: Sequence[str]) -> str:
    """An entry from its start, or from the first line with a searched word; without headings."""
    lines = [line.strip().removeprefix("- ") for line in text.split("\n") if line.strip() and not line.startswith("#")]
    first = next((n for n, line in enumerate(lines) if any(word in line.lower() for word in words)), 0)
    return ("… " if first else "") + one_line(" · ".join(lines[first : first + GIST_LINES]), GIST_CHARS)


def _marked(text: str, words: Sequence[str], style: str = "") -> Text:
    """The text with every searched word highlighted."""
    marked = Text(text, style)
    for word in words:
        marked.highlight_regex(re.compile(re.escape(word), re.IGNORECASE), MARK)
    return marked
