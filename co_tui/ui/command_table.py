"""Every command, once: slash commands, the palette and the keys are all made from this table."""

from difflib import get_close_matches
from typing import Literal, NamedTuple, TypeAlias

from textual.binding import Binding

CommandGroup: TypeAlias = Literal[
    "agents", "conversation", "memory", "models", "prompt", "reports", "sessions", "settings", "view", "work"
]


class Command(NamedTuple):
    """Something the user can ask for; the module of its group in `ui/commands` has the function that does it."""

    name: str
    group: CommandGroup
    help: str
    arguments: str = ""
    key: str = ""
    label: str = ""
    """Beside its key in the footer; empty keeps it out of there."""

    @property
    def slash(self) -> str:
        return f"/{self.name}"

    @property
    def action(self) -> str:
        """What keys and palette run."""
        return f"app.command('{self.name}')"


COMMANDS = (
    Command("help", "view", "Keys, commands and what the gauge tells", key="f1", label="Help"),
    Command("sessions", "sessions", "Browse past sessions", key="f2", label="Sessions"),
    Command("side", "view", "Show or hide context and timeline", key="f4", label="Side"),
    Command("timeline", "view", "Go to the timeline: what happened, in order", key="ctrl+l", label="Timeline"),
    Command(
        "compact",
        "conversation",
        "Make the conversation smaller; FOCUS says what matters",
        "[FOCUS]",
        key="f5",
        label="Compact",
    ),
    Command("model", "models", "Choose who answers", "[MODEL]", key="f6", label="Model"),
    Command("fetch", "models", "Fetch the embedded model, which answers without a key and without a network"),
    Command("new", "sessions", "Start a new session", key="f7"),
    Command("clear", "conversation", "Empty what the model sees; the transcript stays", key="f8", label="Clear"),
    Command("find", "view", "Search in this conversation", "[TEXT]", key="ctrl+f"),
    Command("prompts", "prompt", "Search earlier prompts, of this folder or of all sessions", key="ctrl+r"),
    Command("editor", "prompt", "Write the prompt in your own editor ($VISUAL or $EDITOR)", key="ctrl+g"),
    Command("folds", "view", "Open or close all tool calls and thoughts", key="ctrl+o"),
    Command("continue", "conversation", "Go on with the work where the turn stopped", key="f9"),
    Command("undo", "conversation", "Take back the latest compaction, clearing or rewind"),
    Command("rewind", "conversation", "Go back to before a turn; its prompt returns for editing", "[TURN]"),
    Command(
        "pin",
        "conversation",
        "Pin a message, so that it always stays in the context, or unpin it; an event's number names one",
        "[last | EVENT]",
    ),
    Command(
        "fork",
        "conversation",
        "Go on in a copy of this session, whole or from an event; the original stays as it is",
        "[EVENT]",
    ),
    Command("session", "reports", "The checkpoints that compactions wrote", "checkpoints"),
    Command("queue", "conversation", "See, edit, reorder or drop the prompts that wait"),
    Command("commands", "work", "The commands that run in the background: what they say, and how to end one"),
    Command("approvals", "work", "What is always allowed, in this session and in this project, and taking it back"),
    Command("history", "reports", "How many turns and messages there are"),
    Command(
        "context",
        "reports",
        "What the context is made of; `instructions` shows what goes with every request, `clear` empties it",
        "[instructions | clear]",
    ),
    Command(
        "memory",
        "memory",
        "What left the context, by day; WORDS look for it, `board` shows with what new sessions here begin",
        "[WORDS | board]",
    ),
    Command(
        "subconscious",
        "memory",
        "Let the model note on the board what later sessions here should know; `undo` takes the latest change back",
        "run | undo",
    ),
    Command("agents", "agents", "Whom the model can give parts of the work to, and which files define them"),
    Command("config", "settings", "Show settings with where they come from, or set one", "[KEY [VALUE]]"),
    Command("policy", "settings", "Show what governs the context, or choose another policy", "[POLICY]"),
    Command("mcp", "reports", "How the MCP servers are; `restart` starts those that failed", "[restart]"),
    Command("resume", "sessions", "Open a past session", "[ID]"),
    Command("rename", "sessions", "Give this session a name", "[TITLE]"),
    Command("export", "sessions", "Write this session as markdown, jsonl or html", "[FORMAT] [FILE]"),
    Command("theme", "view", "Switch between dark and light, or choose a theme for good", "[THEME]"),
    Command("quit", "view", "Leave; everything is kept", key="ctrl+q"),
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
    hint = f"did you mean /{close[0]}?" if close else "/help lists them all."
    return f"There is no command /{name}; {hint} ↑ brings back what you wrote."


def bindings() -> list[Binding]:
    """The keys of the table."""
    return [
        Binding(
            command.key,
            command.action,
            command.label or command.help,
            show=bool(command.label),
            tooltip=command.help,
            id=f"command.{command.name}",
            priority=True,
        )
        for command in COMMANDS
        if command.key
    ]
