"""Every action, once: slash commands, the palette and the keys are all made from this table."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import partial
from typing import NamedTuple

from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider


class Command(NamedTuple):
    """An action the user can ask for; the chat screen does it in its method `do_<name>`."""

    name: str
    help: str
    arguments: str = ""
    key: str = ""
    label: str = ""
    """Beside its key in the footer; empty keeps it out of there."""

    @property
    def slash(self) -> str:
        return f"/{self.name}"


COMMANDS = (
    Command("help", "Keys, commands and what the gauge tells", key="f1", label="Help"),
    Command("sessions", "Browse past sessions", key="f2", label="Sessions"),
    Command("side", "Show or hide context and timeline", key="f4", label="Side"),
    Command("compact", "Make the conversation smaller; FOCUS says what matters", "[FOCUS]", key="f5", label="Compact"),
    Command("model", "Choose who answers", "[MODEL]", key="f6", label="Model"),
    Command("new", "Start a new session", key="f7"),
    Command("clear", "Empty what the model sees; the transcript stays", key="f8", label="Clear"),
    Command("find", "Search in this conversation", "[TEXT]", key="ctrl+f"),
    Command("folds", "Open or close all tool calls and thoughts", key="ctrl+o"),
    Command("undo", "Take back the latest compaction, clearing or rewind"),
    Command("rewind", "Go back to before a turn; its prompt returns for editing", "[TURN]"),
    Command("pin", "Pin a message, so that it always stays in the context, or unpin it", "[last]"),
    Command("fork", "Go on in a copy of this session; the original stays as it is"),
    Command("session", "The checkpoints that compactions wrote", "checkpoints"),
    Command("queue", "See, edit, reorder or drop the prompts that wait"),
    Command("history", "How many turns and messages there are"),
    Command("context", "What the context is made of; `clear` empties it", "[clear]"),
    Command("config", "Show settings with where they come from, or set one", "[KEY [VALUE]]"),
    Command("policy", "Show what governs the context, or choose another policy", "[POLICY]"),
    Command("resume", "Open a past session", "[ID]"),
    Command("rename", "Give this session a name", "[TITLE]"),
    Command("theme", "Switch between dark and light"),
    Command("quit", "Leave; everything is kept", key="ctrl+q"),
)

_BY_NAME = {command.name: command for command in COMMANDS}


def find(name: str) -> Command | None:
    return _BY_NAME.get(name)


def is_key(key: str) -> bool:
    """Whether a key is a command's."""
    return any(command.key == key for command in COMMANDS)


def starting_with(prefix: str) -> list[Command]:
    """Commands whose slash form begins with what was typed."""
    return [command for command in COMMANDS if command.slash.startswith(prefix)]


class Called(NamedTuple):
    """A command as it was typed."""

    name: str
    arguments: str


def called(text: str) -> Called | None:
    """The command a prompt calls; None for what is to be said. A path at the beginning is no command."""
    text = text.strip()
    if not text.startswith("/") or "\n" in text:
        return None
    name, _, arguments = text[1:].partition(" ")
    return None if "/" in name else Called(name, arguments.strip())


def unknown(name: str) -> str:
    """The sentence for a command that does not exist."""
    close = get_close_matches(name, _BY_NAME, n=1, cutoff=0.5)
    hint = f"did you mean /{close[0]}?" if close else "/help lists them."
    return f"There is no command /{name}; {hint}"


def bindings() -> list[Binding]:
    """The keys of the table."""
    return [
        Binding(
            command.key,
            f"command('{command.name}')",
            command.label or command.help,
            show=bool(command.label),
            tooltip=command.help,
            id=f"command.{command.name}",
            priority=True,
        )
        for command in COMMANDS
        if command.key
    ]


class CommandProvider(Provider):
    """The same commands in the palette."""

    async def discover(self) -> Hits:
        for command in self._all():
            yield DiscoveryHit(_title(command), partial(self._run, command), help=command.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for command in self._all():
            title = _title(command)
            score = max(matcher.match(title), matcher.match(command.help))
            if score > 0:
                yield Hit(score, matcher.highlight(title), partial(self._run, command), help=command.help)

    def _all(self) -> Iterable[Command]:
        return COMMANDS

    def _run(self, command: Command) -> None:
        self.app.run_command(command.name, "")  # type: ignore[attr-defined]


def _title(command: Command) -> str:
    key = f"  {command.key}" if command.key else ""
    return f"{command.slash}{key}"
