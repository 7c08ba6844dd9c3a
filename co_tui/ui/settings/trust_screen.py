"""What a folder's own settings ask for, as a sentence and as the files themselves."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from co_tui.inert import inert, one_line
from co_tui.paths import path_text
from co_tui.settings import SettingsError, quoted, read_text
from co_tui.trust import AGENTS, COMMANDS, INSTRUCTIONS, TrustRequest
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.widgets.key_hints import SCROLL_AND_BACK, KeyHints

MOST_PHRASES = 4
VALUE_CHARS = 40
"""The question must fit a small screen; the file can be viewed."""
_PHRASES = {
    "model": "choose the model ({})",
    "summarization_model": "choose the summary model ({})",
    "base_url": "send the conversation to {}",
    "telemetry": "report to {}",
    "mode": "start in mode {}",
    "permissions": "allow calls without asking ({})",
    "hooks": "run commands ({})",
    "after_edit": "run commands after edits ({})",
    "mcp_servers": "start MCP servers ({})",
    AGENTS: "delegate to its own agents ({})",
    COMMANDS: "add slash commands ({})",
    INSTRUCTIONS: "give the model instructions ({})",
}


def request_text(wish: TrustRequest) -> str:
    """A sentence that lists what the folder asks for."""
    named = sorted(wish.requested.items(), key=lambda wanted: wanted[0] not in _PHRASES)
    phrases = [
        _PHRASES.get(key, f"set {key} = {{}}").format(one_line(_value_text(key, value, wish), VALUE_CHARS))
        for key, value in named[:MOST_PHRASES]
    ]
    if more := len(named) - len(phrases):
        phrases.append(f"set {more} more")
    listed = " and ".join(filter(None, (", ".join(phrases[:-1]), phrases[-1])))
    return f"It wants to {listed}. Ignored until you trust this folder."


def _value_text(key: str, value: object, wish: TrustRequest) -> str:
    if key == AGENTS:
        return ", ".join(wish.agents)
    if key == COMMANDS:
        return ", ".join(wish.commands)
    if key == INSTRUCTIONS:
        return ", ".join(file.name for file in wish.instruction_files)
    if isinstance(value, str):
        return value
    if key == "permissions" and isinstance(value, Mapping):
        return ", ".join(rule for rules in value.values() for rule in _commands(rules))
    if key in ("hooks", "after_edit") and isinstance(value, Mapping):
        return ", ".join(command for commands in value.values() for command in _commands(commands))
    if key != "mcp_servers" or not isinstance(value, Mapping):
        return quoted(value)
    addresses = {
        name: each.get("command") or each.get("url") for name, each in value.items() if isinstance(each, Mapping)
    }
    return ", ".join(f"{name}: {address}" for name, address in addresses.items())


def _commands(value: object) -> list[str]:
    """The commands of a hook, or permission rules, as written, even if malformed."""
    several = value if isinstance(value, list | tuple) else [value]
    return [each if isinstance(each, str) else quoted(each) for each in several]


class FileScreen(Dialog[None]):
    """Shows the folder's settings, agent and command files."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", "Back")]

    def __init__(self, wish: TrustRequest) -> None:
        super().__init__(wide=True)
        self._files = wish.files

    def compose(self) -> ComposeResult:
        first, *others = self._files
        with Vertical() as box:
            box.border_title = Text(one_line(path_text(first), 70))
            with VerticalScroll():
                yield Static(_shown(first), markup=False)
                for file in others:
                    yield Static(f"\n── {inert(path_text(file))} ──\n\n{_shown(file)}", markup=False)
            yield KeyHints(*SCROLL_AND_BACK)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()


def _shown(file: Path) -> str:
    try:
        return inert(read_text(file))
    except SettingsError as error:
        return str(error)
