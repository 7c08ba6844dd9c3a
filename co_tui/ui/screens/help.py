"""All keys and commands, made from the tables that define them."""

from collections.abc import Iterable
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from co_tui.ui.command_table import COMMANDS
from co_tui.ui.screens.dialog import Dialog

_KEYS = (
    ("enter", "send"),
    ("ctrl+j", "new line (also shift+enter where the terminal tells, or \\ at the end)"),
    ("alt+enter", "send to the turn that runs: the model hears it with its next step; else the next prompt"),
    ("!", "run a command of your own: !git status; the model sees it with your next prompt, esc stops it"),
    ("@", "name a file: it goes with the prompt"),
    ("up, down", "earlier prompts, at the first and last line; up in an empty prompt shows what waits"),
    ("ctrl+c", "copy the selection; else clear what is written (up brings it back); in an empty prompt, twice quits"),
    ("ctrl+t", "open a pasted text that was folded; it is sent whole"),
    ("esc", "stop the turn; what waits stays on hold until enter; close what is open"),
    ("pgup, pgdn", "scroll the conversation; ctrl+end goes back to its end"),
    ("tab", "move between prompt, chat, timeline and a question; typing goes to the prompt"),
    ("tab, then ↑ ↓", "in the chat: mark a message; shift+↑ ↓ marks several, home and end go to the first and last"),
    ("c y", "in the chat: copy what is marked, or only its code"),
    ("e f p", "in the chat: edit a prompt and send it again, fork from here, pin"),
    ("v o enter", "in the chat: view it whole, its links, open or close a fold; [ ] go from fold to fold"),
    ("alt+up, alt+down", "to the turn before, or after"),
    ("ctrl+p", "all commands"),
)
_GAUGE = (
    ("62 %", "share of the model's window that the next request takes"),
    ("~", "estimated; without it, counted by the provider"),
    ("?", "the window is assumed: nobody told it"),
    ("┆ ┆", "where compaction starts beside the turn, and where it must come first"),
)


class HelpScreen(Dialog[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,q", "close", "Back")]

    def __init__(self) -> None:
        super().__init__(tall=True)

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Help"
            with VerticalScroll():
                yield Static(_section("Keys", _KEYS))
                rows = [
                    (f"{c.slash} {c.arguments}".rstrip(), f"{c.help}{f'  ({c.key})' if c.key else ''}")
                    for c in COMMANDS
                ]
                yield Static(_section("Commands", rows))
                yield Static(_section("The gauge", _GAUGE))
            yield Static("up, down scroll   esc back", classes="keys", markup=False)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_close(self) -> None:
        self.answer(None)


def _section(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_row(Text(title, style="bold"), "")
    for name, meaning in rows:
        table.add_row(Text(f"  {name}"), Text(meaning))
    table.add_row("", "")
    return table
