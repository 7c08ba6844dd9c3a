"""Everything a user can do by name or by key, once: slash commands, palette, footer, help and the setting `keys`
are made from these two tables.

To add a command: a row in `COMMANDS`, and a function under its name in `ui/commands/GROUP_commands.py`.
To add a key of one place: a row in `KEYS`; the place's `BINDINGS` are `bindings(PLACE)`, its method is `action_DOES`.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

CommandGroup: TypeAlias = Literal[
    "agents", "conversation", "memory", "models", "prompt", "reports", "sessions", "settings", "view", "work"
]
Place: TypeAlias = Literal["anywhere", "prompt", "chat", "timeline"]
"""Where a key counts: whatever has the focus beside the conversation, or only while that place has it."""
NeedsSession: TypeAlias = Literal["never", "with arguments", "always"]
PLACES: Final[Mapping[Place, str]] = {
    "anywhere": "anywhere",
    "prompt": "in the prompt",
    "chat": "in the chat, after Tab",
    "timeline": "in the timeline",
}


class Command(NamedTuple):
    """Something that can be asked for by its name, wherever one is."""

    name: str
    group: CommandGroup
    help: str
    arguments: str = ""
    key: str = ""
    label: str = ""
    """Beside its key in the footer; empty keeps it out of there."""
    opens_screen: bool = False
    """What is typed right behind its key is meant for the screen, or the field, that comes."""
    needs_session: NeedsSession = "never"
    """Whether it waits, in order with the prompts, while its session is being opened."""

    @property
    def slash(self) -> str:
        return f"/{self.name}"

    @property
    def action(self) -> str:
        """What keys and palette run."""
        return f"app.command('{self.name}')"


class KeyAction(NamedTuple):
    """Something that only a key does."""

    name: str
    where: Place
    key: str
    does: str
    """The place's own action."""
    help: str
    label: str = ""
    """Beside its key in the footer; empty keeps it out of there."""
    takes_precedence: bool = False
    """Whether it counts before what the focused widget would do with the key."""


COMMANDS: Final = (
    Command("help", "view", "Keys, commands and what the gauge tells", key="f1", label="Help", opens_screen=True),
    Command("sessions", "sessions", "Browse past sessions", key="f2", label="Sessions", opens_screen=True),
    Command(
        "lens",
        "reports",
        "The next request, message by message",
        key="f3",
        label="Lens",
        opens_screen=True,
        needs_session="always",
    ),
    Command("side", "view", "Show or hide context and timeline", key="f4", label="Context"),
    Command("timeline", "view", "Go to the timeline: what happened, in order", key="ctrl+l", label="Timeline"),
    Command(
        "compact",
        "conversation",
        "Make the conversation smaller; FOCUS says what matters",
        "[FOCUS]",
        key="f5",
        label="Compact",
        needs_session="always",
    ),
    Command(
        "model",
        "models",
        "Choose who answers",
        "[MODEL]",
        key="f6",
        label="Model",
        opens_screen=True,
        needs_session="with arguments",
    ),
    Command("fetch", "models", "Fetch the embedded model, which answers without a key and without a network"),
    Command("new", "sessions", "Start a new session", key="f7"),
    Command(
        "clear",
        "conversation",
        "Empty what the model sees; the transcript stays",
        key="f8",
        label="Clear",
        needs_session="always",
    ),
    Command("find", "view", "Search in this conversation", "[TEXT]", key="ctrl+f", opens_screen=True),
    Command(
        "prompts",
        "prompt",
        "Search earlier prompts, of this folder or of all sessions",
        key="ctrl+r",
        opens_screen=True,
    ),
    Command("editor", "prompt", "Write the prompt in your own editor ($VISUAL or $EDITOR)", key="ctrl+g"),
    Command("folds", "view", "Open or close all tool calls and thoughts", key="ctrl+o"),
    Command("continue", "conversation", "Go on with the work where the turn stopped", key="f9", needs_session="always"),
    Command("undo", "conversation", "Take back the latest compaction, clearing or rewind", needs_session="always"),
    Command(
        "rewind",
        "conversation",
        "Go back to before a turn; its prompt returns for editing",
        "[TURN]",
        needs_session="always",
    ),
    Command(
        "pin",
        "conversation",
        "Pin a message, so that it always stays in the context, or unpin it; an event's number names one",
        "[last | EVENT]",
        needs_session="always",
    ),
    Command(
        "fork",
        "conversation",
        "Go on in a copy of this session, whole or from an event; the original stays as it is",
        "[EVENT]",
        needs_session="always",
    ),
    Command("session", "reports", "The checkpoints that compactions wrote", "checkpoints", needs_session="always"),
    Command("queue", "conversation", "See, edit, reorder or drop the prompts that wait", opens_screen=True),
    Command(
        "commands",
        "work",
        "The commands that run in the background: what they say, and how to end one",
        opens_screen=True,
        needs_session="always",
    ),
    Command("mode", "work", "Choose what runs without asking: ask, edits, plan or auto", "[MODE]"),
    Command(
        "approvals",
        "work",
        "Permission rules: what is allowed, asked or denied, and where; add or revoke one",
        opens_screen=True,
    ),
    Command("history", "reports", "How many turns and messages there are", needs_session="always"),
    Command(
        "context",
        "reports",
        "What the context is made of; `instructions` shows what goes with every request, `clear` empties it",
        "[instructions | clear]",
        needs_session="always",
    ),
    Command(
        "memory",
        "memory",
        "What left the context, by day; WORDS look for it, `board` shows with what new sessions here begin",
        "[WORDS | board]",
        opens_screen=True,
    ),
    Command(
        "subconscious",
        "memory",
        "Let the model note on the board what later sessions here should know; `undo` takes the latest change back",
        "run | undo",
        needs_session="always",
    ),
    Command("agents", "agents", "Whom the model can give parts of the work to, and which files define them"),
    Command(
        "settings",
        "settings",
        "Change settings: what each does, what is allowed, where it comes from",
        "[WORDS]",
        opens_screen=True,
    ),
    Command(
        "config",
        "settings",
        "Show settings with where they come from, or set one",
        "[KEY [VALUE]]",
        needs_session="with arguments",
    ),
    Command(
        "policy",
        "settings",
        "Show what governs the context, or choose another policy",
        "[POLICY]",
        needs_session="with arguments",
    ),
    Command("mcp", "reports", "How the MCP servers are; `restart` starts those that failed", "[restart]"),
    Command("resume", "sessions", "Open a past session", "[ID]", opens_screen=True),
    Command("rename", "sessions", "Give this session a name", "[TITLE]", needs_session="always"),
    Command(
        "export", "sessions", "Write this session as markdown, jsonl or html", "[FORMAT] [FILE]", needs_session="always"
    ),
    Command("theme", "view", "Switch between dark and light, and tell the themes; or choose one for good", "[THEME]"),
    Command("quit", "view", "Leave; everything is kept", key="ctrl+q"),
)

KEYS: Final = (
    KeyAction("newline", "prompt", "ctrl+j", "newline", "New line (also shift+enter, or \\ at the end)", "Newline"),
    KeyAction(
        "steer", "prompt", "alt+enter", "steer", "Send to the turn that runs: the model hears it with its next step"
    ),
    KeyAction("open_pasted", "prompt", "ctrl+t", "open_pasted", "Open a pasted text that was folded; it is sent whole"),
    KeyAction("page_up", "anywhere", "pageup", "page(-1)", "Scroll the conversation up", takes_precedence=True),
    KeyAction("page_down", "anywhere", "pagedown", "page(1)", "Scroll the conversation down", takes_precedence=True),
    KeyAction("line_up", "anywhere", "ctrl+up", "line(-1)", "Scroll it by a line", takes_precedence=True),
    KeyAction("line_down", "anywhere", "ctrl+down", "line(1)", "Scroll it by a line", takes_precedence=True),
    KeyAction("to_the_end", "anywhere", "ctrl+end", "end", "Go to its end, and follow it", takes_precedence=True),
    KeyAction("earlier_turn", "anywhere", "alt+up", "turn(-1)", "Go to the turn before", takes_precedence=True),
    KeyAction("later_turn", "anywhere", "alt+down", "turn(1)", "Go to the turn after", takes_precedence=True),
    KeyAction(
        "next_mode",
        "anywhere",
        "shift+tab",
        "next_mode",
        "Switch the mode: ask, edits, plan, auto",
        takes_precedence=True,
    ),
    KeyAction(
        "suspend",
        "anywhere",
        "ctrl+z",
        "app.suspend_process",
        "Go to the shell, whose fg brings co-tui back; in the prompt, take back what was typed",
    ),
    KeyAction("mark_up", "chat", "up,k", "mark(-1)", "Mark the message before"),
    KeyAction("mark_down", "chat", "down,j", "mark(1)", "Mark the next message"),
    KeyAction("select_up", "chat", "shift+up", "mark(-1, True)", "Mark the message before as well"),
    KeyAction("select_down", "chat", "shift+down", "mark(1, True)", "Mark the next message as well"),
    KeyAction("mark_first", "chat", "home", "mark_end(-1)", "Mark the first message"),
    KeyAction("mark_last", "chat", "end", "mark_end(1)", "Mark the last message"),
    KeyAction("open_fold", "chat", "enter", "open", "Open or close what is marked", "Open/close"),
    KeyAction("copy", "chat", "c", "copy", "Copy what is marked", "Copy"),
    KeyAction("copy_code", "chat", "y", "copy_code", "Copy only its code, block by block", "Copy code"),
    KeyAction("edit_prompt", "chat", "e", "wish('edit')", "Edit a prompt and send it again", "Edit, resend"),
    KeyAction("fork_here", "chat", "f", "wish('fork')", "Go on from here in a copy of the session", "Fork here"),
    KeyAction(
        "pin_marked", "chat", "p", "wish('pin')", "Pin it, so that it always stays in the context, or unpin it", "Pin"
    ),
    KeyAction("view_whole", "chat", "v", "wish('view')", "Read it whole, on a screen of its own", "View whole"),
    KeyAction("links", "chat", "o", "wish('links')", "Its links, shown before they are opened", "Links"),
    KeyAction(
        "show_in_timeline", "chat", "g", "show_in_timeline", "Go to its entry in the timeline", "Show in timeline"
    ),
    KeyAction("previous_fold", "chat", "[", "fold(-1)", "Go to the fold before"),
    KeyAction("next_fold", "chat", "]", "fold(1)", "Go to the next fold"),
    KeyAction("open_entry", "timeline", "enter", "select", "Open the entry", "Open"),
    KeyAction("show_in_chat", "timeline", "g", "show_in_chat", "Go to its place in the chat", "Show in chat"),
    KeyAction("filter", "timeline", "f", "filter", "Show only some kinds of entries", "Filter"),
)
