"""What a folder's own settings ask for, as a sentence and as the files themselves."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from co_tui.agent.redact import KEY_VARIABLES, redact
from co_tui.inert import inert, one_line
from co_tui.paths import path_text
from co_tui.settings import SettingsError, quoted, read_text
from co_tui.settings.trust_texts import shown_files, trust_lines
from co_tui.trust import AGENTS, COMMANDS, INSTRUCTIONS, TrustRequest
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.widgets.key_hints import SCROLL_AND_BACK, KeyHints

MOST_PHRASES = 4
VALUE_CHARS = 40
"""The question must fit a small screen; the file can be viewed."""
MOST_SHOWN_CHARS = 100_000
"""Of the files; some projects have hundreds."""
_PHRASES = {
    "model": "choose the model ({})",
    "summarization_model": "choose the summary model ({})",
    "base_url": "send the conversation to {}",
    "telemetry": "report to {}",
    "mode": "start in mode {}",
    "permissions": "allow calls without asking ({})",
    "add_dirs": "work in further folders ({})",
    "hooks": "run commands ({})",
    "after_edit": "run commands after edits ({})",
    "mcp_servers": "start MCP servers ({})",
    "env": "set variables for commands ({})",
    AGENTS: "delegate to its own agents ({})",
    COMMANDS: "add slash commands ({})",
    INSTRUCTIONS: "give the model instructions ({})",
}


def request_text(wish: TrustRequest) -> str:
    """A sentence that lists what the folder asks for."""
    keys = dict.fromkeys((*(key for table in wish.by_file.values() for key in table), *wish.lists))
    named = sorted(keys, key=lambda key: list(_PHRASES).index(key) if key in _PHRASES else len(_PHRASES))
    phrases = [
        _PHRASES.get(key, f"set {key} = {{}}").format(one_line(_text_of(key, wish), VALUE_CHARS))
        for key in named[:MOST_PHRASES]
    ]
    if more := len(named) - len(phrases):
        phrases.append(f"set {more} more")
    listed = " and ".join(filter(None, (", ".join(phrases[:-1]), phrases[-1])))
    return f"It wants to {listed}. Ignored until you trust this folder."


def _text_of(key: str, wish: TrustRequest) -> str:
    lists = {AGENTS: wish.agents, COMMANDS: wish.commands, INSTRUCTIONS: wish.instructions}
    return ", ".join(lists[key] if key in lists else (_value_text(key, each) for each in wish.values(key).values()))


def _value_text(key: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if key == "permissions" and isinstance(value, Mapping):
        return ", ".join(rule for rules in value.values() for rule in _commands(rules))
    if key in ("hooks", "after_edit") and isinstance(value, Mapping):
        return ", ".join(command for commands in value.values() for command in _commands(commands))
    if key == "add_dirs":
        return ", ".join(_commands(value))
    if key == "env" and isinstance(value, Mapping):
        return ", ".join(value)
    if key != "mcp_servers" or not isinstance(value, Mapping):
        return quoted(value)
    addresses = {
        name: each.get("command") or each.get("url") for name, each in value.items() if isinstance(each, Mapping)
    }
    return ", ".join(f"{name}: {address}" for name, address in addresses.items())


def _commands(value: object) -> list[str]:
    """The commands of a hook, or permission rules, as written, even if malformed."""
    several = value if isinstance(value, list | tuple) else [value]
    return [each if isinstance(each, str) else _command(each) for each in several]


def _command(entry: object) -> str:
    command = entry.get("command") if isinstance(entry, Mapping) else None
    return command if isinstance(command, str) else quoted(entry)


class FileScreen(Dialog[None]):
    """Shows what of the folder's files would be used and what not, and then the files."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", "Back")]

    def __init__(self, wish: TrustRequest) -> None:
        super().__init__(wide=True)
        self._folder = wish.file.parent
        self._files = shown_files(wish)
        self._list = "\n".join(redact(inert(line)) for line in trust_lines(wish, KEY_VARIABLES))

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Text(one_line(path_text(self._folder), 70))
            with VerticalScroll():
                yield Static(self._list, markup=False)
                for text in file_texts(self._files):
                    yield Static(text, markup=False)
            yield KeyHints(*SCROLL_AND_BACK)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()


def file_texts(files: Sequence[Path]) -> Iterator[str]:
    """The files, each below its name, up to a length that is laid out quickly; then how many more there are."""
    left = MOST_SHOWN_CHARS
    for number, file in enumerate(files):
        if left <= 0:
            yield f"\n── {len(files) - number:,} more files, all in the list above ──"
            return
        text = _shown(file)
        left -= len(text)
        yield f"\n── {inert(path_text(file))} ──\n\n{text}"


def _shown(file: Path) -> str:
    try:
        return inert(read_text(file))
    except SettingsError as error:
        return str(error)
