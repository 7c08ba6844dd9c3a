"""Everything a user can do by name or by key. Slash commands, palette, footer, help and the setting `keys` are all
built from these two tables.

To add a command: a row in `COMMANDS`, and a function under its name in `ui/commands/GROUP_commands.py`.
To add a key: a row in `KEYS`; the widget's `BINDINGS` are `bindings(SCOPE)`, its method is `action_DOES`.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

CommandGroup: TypeAlias = Literal[
    "agents", "conversation", "memory", "models", "prompt", "reports", "sessions", "settings", "view", "work"
]
KeyScope: TypeAlias = Literal["anywhere", "prompt", "chat", "timeline"]
"""Where a key works: anywhere in the chat screen, or only while that widget has the focus."""
NeedsSession: TypeAlias = Literal["never", "with arguments", "always"]
KEY_SCOPES: Final[Mapping[KeyScope, str]] = {
    "anywhere": "anywhere",
    "prompt": "in the prompt",
    "chat": "in the chat, after Tab",
    "timeline": "in the timeline",
}


class SlashCommand(NamedTuple):
    """A command that can be typed, chosen in the palette or bound to a key."""

    name: str
    group: CommandGroup
    help: str
    arguments: str = ""
    key: str = ""
    label: str = ""
    """Shown with its key in the footer; empty keeps it out of the footer."""
    opens_screen: bool = False
    """Keys typed right after it go to the screen or field it opens."""
    needs_session: NeedsSession = "never"
    """Whether it queues with the prompts while its session is being opened."""

    @property
    def slash(self) -> str:
        return f"/{self.name}"

    @property
    def action(self) -> str:
        """The Textual action that keys and palette run."""
        return f"app.command('{self.name}')"


class KeyAction(NamedTuple):
    """An action that only has a key."""

    name: str
    where: KeyScope
    key: str
    does: str
    """The action of the widget in that scope."""
    help: str
    label: str = ""
    """Shown with its key in the footer; empty keeps it out of the footer."""
    takes_precedence: bool = False
    """Whether it overrides what the focused widget does with the key."""


COMMANDS: Final = (
    SlashCommand("help", "view", "Keys, commands and what the gauge tells", key="f1", label="Help", opens_screen=True),
    SlashCommand("sessions", "sessions", "Browse past sessions", key="f2", label="Sessions", opens_screen=True),
    SlashCommand(
        "lens",
        "reports",
        "The next request, message by message",
        key="f3",
        label="Lens",
        opens_screen=True,
        needs_session="always",
    ),
    SlashCommand("side", "view", "Show or hide context and timeline", key="f4", label="Context"),
    SlashCommand("timeline", "view", "Go to the timeline: what happened, in order", key="ctrl+l", label="Timeline"),
    SlashCommand(
        "compact",
        "conversation",
        "Make the conversation smaller; FOCUS says what matters",
        "[FOCUS]",
        key="f5",
        label="Compact",
        needs_session="always",
    ),
    SlashCommand(
        "model",
        "models",
        "Choose who answers",
        "[MODEL]",
        key="f6",
        label="Model",
        opens_screen=True,
        needs_session="with arguments",
    ),
    SlashCommand("fetch", "models", "Fetch the embedded model, which answers without a key and without a network"),
    SlashCommand("new", "sessions", "Start a new session", key="f7"),
    SlashCommand(
        "clear",
        "conversation",
        "Empty what the model sees; the transcript stays",
        key="f8",
        label="Clear",
        needs_session="always",
    ),
    SlashCommand("find", "view", "Search in this conversation", "[TEXT]", key="ctrl+f", opens_screen=True),
    SlashCommand(
        "prompts",
        "prompt",
        "Search earlier prompts, of this folder or of all sessions",
        key="ctrl+r",
        opens_screen=True,
    ),
    SlashCommand("editor", "prompt", "Write the prompt in your own editor ($VISUAL or $EDITOR)", key="ctrl+g"),
    SlashCommand("folds", "view", "Open or close all tool calls and thoughts", key="ctrl+o"),
    SlashCommand(
        "continue", "conversation", "Go on with the work where the turn stopped", key="f9", needs_session="always"
    ),
    SlashCommand("undo", "conversation", "Take back the latest compaction, clearing or rewind", needs_session="always"),
    SlashCommand(
        "rewind",
        "conversation",
        "Go back to before a turn; its prompt returns for editing",
        "[TURN]",
        needs_session="always",
    ),
    SlashCommand(
        "pin",
        "conversation",
        "Pin or unpin a message; pinned ones always stay in the context",
        "[last | EVENT]",
        needs_session="always",
    ),
    SlashCommand(
        "fork",
        "conversation",
        "Go on in a copy of this session, whole or from an event; the original stays as it is",
        "[EVENT]",
        needs_session="always",
    ),
    SlashCommand("session", "reports", "The checkpoints that compactions wrote", "checkpoints", needs_session="always"),
    SlashCommand("queue", "conversation", "See, edit, reorder or drop the prompts that wait", opens_screen=True),
    SlashCommand(
        "commands",
        "work",
        "The commands that run in the background: what they say, and how to end one",
        opens_screen=True,
        needs_session="always",
    ),
    SlashCommand("mode", "work", "Choose what runs without asking: ask, edits, plan or auto", "[MODE]"),
    SlashCommand(
        "approvals",
        "work",
        "Permission rules: what is allowed, asked or denied, and where; add or revoke one",
        opens_screen=True,
    ),
    SlashCommand("history", "reports", "How many turns and messages there are", needs_session="always"),
    SlashCommand(
        "context",
        "reports",
        "Show what fills the context; `instructions` shows what every request includes",
        "[instructions | clear]",
        needs_session="always",
    ),
    SlashCommand(
        "memory",
        "memory",
        "Browse memory by day, search it, or show the board",
        "[WORDS | board]",
        opens_screen=True,
    ),
    SlashCommand(
        "subconscious",
        "memory",
        "Let the model update the board for later sessions, or undo its last update",
        "run | undo",
        needs_session="always",
    ),
    SlashCommand("agents", "agents", "List the agents the model can delegate to"),
    SlashCommand(
        "settings",
        "settings",
        "Change settings: what each does, what is allowed, where it comes from",
        "[WORDS]",
        opens_screen=True,
    ),
    SlashCommand(
        "config",
        "settings",
        "Show settings with where they come from, or set one",
        "[KEY [VALUE]]",
        needs_session="with arguments",
    ),
    SlashCommand(
        "policy",
        "settings",
        "Show what governs the context, or choose another policy",
        "[POLICY]",
        needs_session="with arguments",
    ),
    SlashCommand("mcp", "reports", "How the MCP servers are; `restart` starts those that failed", "[restart]"),
    SlashCommand("resume", "sessions", "Open a past session", "[ID]", opens_screen=True),
    SlashCommand("rename", "sessions", "Give this session a name", "[TITLE]", needs_session="always"),
    SlashCommand(
        "export", "sessions", "Write this session as markdown, jsonl or html", "[FORMAT] [FILE]", needs_session="always"
    ),
    SlashCommand(
        "theme", "view", "Switch between dark and light, and tell the themes; or choose one for good", "[THEME]"
    ),
    SlashCommand("quit", "view", "Leave; everything is kept", key="ctrl+q"),
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
    KeyAction("edit_prompt", "chat", "e", "on_block('edit')", "Edit a prompt and send it again", "Edit, resend"),
    KeyAction("fork_here", "chat", "f", "on_block('fork')", "Go on from here in a copy of the session", "Fork here"),
    KeyAction(
        "pin_marked",
        "chat",
        "p",
        "on_block('pin')",
        "Pin it, so that it always stays in the context, or unpin it",
        "Pin",
    ),
    KeyAction("view_whole", "chat", "v", "on_block('view')", "Read it whole, on a screen of its own", "View whole"),
    KeyAction("links", "chat", "o", "on_block('links')", "Its links, shown before they are opened", "Links"),
    KeyAction(
        "show_in_timeline", "chat", "g", "show_in_timeline", "Go to its entry in the timeline", "Show in timeline"
    ),
    KeyAction("previous_fold", "chat", "[", "fold(-1)", "Go to the fold before"),
    KeyAction("next_fold", "chat", "]", "fold(1)", "Go to the next fold"),
    KeyAction("open_entry", "timeline", "enter", "select", "Open the entry", "Open"),
    KeyAction("show_in_chat", "timeline", "g", "show_in_chat", "Go to its place in the chat", "Show in chat"),
    KeyAction("filter", "timeline", "f", "filter", "Show only some kinds of entries", "Filter"),
)
