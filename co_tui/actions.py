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
    SlashCommand(
        "help", "view", "Show keys, commands and how to read the gauge", key="f1", label="Help", opens_screen=True
    ),
    SlashCommand("sessions", "sessions", "Browse past sessions", key="f2", label="Sessions", opens_screen=True),
    SlashCommand(
        "lens",
        "reports",
        "Show the next request, message by message",
        key="f3",
        label="Lens",
        opens_screen=True,
        needs_session="always",
    ),
    SlashCommand("side", "view", "Show or hide the context and timeline column", key="f4", label="Context"),
    SlashCommand("timeline", "view", "Go to the timeline", key="ctrl+l", label="Timeline"),
    SlashCommand(
        "compact",
        "conversation",
        "Summarise older messages; FOCUS says what to keep",
        "[FOCUS]",
        key="f5",
        label="Compact",
        needs_session="always",
    ),
    SlashCommand(
        "model",
        "models",
        "Choose a model",
        "[MODEL]",
        key="f6",
        label="Model",
        opens_screen=True,
        needs_session="with arguments",
    ),
    SlashCommand("fetch", "models", "Download the embedded model (works offline, needs no key)"),
    SlashCommand("new", "sessions", "Start a new session", key="f7"),
    SlashCommand(
        "clear",
        "conversation",
        "Clear the context (history is kept)",
        key="f8",
        label="Clear",
        needs_session="always",
    ),
    SlashCommand("find", "view", "Search in this conversation", "[TEXT]", key="ctrl+f", opens_screen=True),
    SlashCommand(
        "prompts",
        "prompt",
        "Search earlier prompts, in this folder or everywhere",
        key="ctrl+r",
        opens_screen=True,
    ),
    SlashCommand("editor", "prompt", "Write the prompt in your editor ($VISUAL or $EDITOR)", key="ctrl+g"),
    SlashCommand("folds", "view", "Expand or collapse all tool calls and thinking", key="ctrl+o"),
    SlashCommand("continue", "conversation", "Continue the turn where it stopped", key="f9", needs_session="always"),
    SlashCommand("undo", "conversation", "Undo the last compaction, clear or rewind", needs_session="always"),
    SlashCommand(
        "rewind",
        "conversation",
        "Go back to before a turn and edit its prompt",
        "[TURN]",
        needs_session="always",
    ),
    SlashCommand(
        "pin",
        "conversation",
        "Pin a message so it always stays in context, or unpin it",
        "[last | EVENT]",
        needs_session="always",
    ),
    SlashCommand(
        "fork",
        "conversation",
        "Continue in a copy of this session, whole or up to an event",
        "[EVENT]",
        needs_session="always",
    ),
    SlashCommand(
        "session", "reports", "List the checkpoints written by compactions", "checkpoints", needs_session="always"
    ),
    SlashCommand("queue", "conversation", "View, edit, reorder or drop queued prompts", opens_screen=True),
    SlashCommand(
        "commands",
        "work",
        "List background commands, with their output; stop one",
        opens_screen=True,
        needs_session="always",
    ),
    SlashCommand("mode", "work", "Set what runs without asking: ask, edits, plan or auto", "[MODE]"),
    SlashCommand(
        "approvals",
        "work",
        "View, add or revoke permission rules",
        opens_screen=True,
    ),
    SlashCommand("history", "reports", "Count turns and messages", needs_session="always"),
    SlashCommand(
        "context",
        "reports",
        "Show context usage; `instructions` shows the system prompt and tools",
        "[instructions | clear]",
        needs_session="always",
    ),
    SlashCommand(
        "memory",
        "memory",
        "Search summaries by day; `board` shows the notes that new sessions start with",
        "[WORDS | board]",
        opens_screen=True,
    ),
    SlashCommand(
        "subconscious",
        "memory",
        "Let the model update the board of notes for later sessions; `undo` reverts it",
        "run | undo",
        needs_session="always",
    ),
    SlashCommand("agents", "agents", "List the agents that work can be delegated to"),
    SlashCommand(
        "settings",
        "settings",
        "Change settings",
        "[WORDS]",
        opens_screen=True,
    ),
    SlashCommand(
        "config",
        "settings",
        "Show or set a setting",
        "[KEY [VALUE]]",
        needs_session="with arguments",
    ),
    SlashCommand(
        "policy",
        "settings",
        "Show or choose the context policy",
        "[POLICY]",
        needs_session="with arguments",
    ),
    SlashCommand("mcp", "reports", "Show MCP servers; `restart` restarts the failed ones", "[restart]"),
    SlashCommand("resume", "sessions", "Open a past session", "[ID]", opens_screen=True),
    SlashCommand("rename", "sessions", "Rename this session", "[TITLE]", needs_session="always"),
    SlashCommand(
        "export",
        "sessions",
        "Export this session as markdown, jsonl or html",
        "[FORMAT] [FILE]",
        needs_session="always",
    ),
    SlashCommand("theme", "view", "Switch between dark and light, or choose a theme", "[THEME]"),
    SlashCommand("quit", "view", "Quit; everything is saved", key="ctrl+q"),
)

KEYS: Final = (
    KeyAction(
        "newline",
        "prompt",
        "ctrl+j",
        "newline",
        "Insert a line break (also Shift+Enter, or \\ at the end of a line)",
        "Newline",
    ),
    KeyAction(
        "steer",
        "prompt",
        "alt+enter",
        "steer",
        "Add your message to the running turn; the model sees it at its next step",
    ),
    KeyAction("open_pasted", "prompt", "ctrl+t", "open_pasted", "Open a folded paste (it is sent whole)"),
    KeyAction("page_up", "anywhere", "pageup", "page(-1)", "Scroll the conversation up", takes_precedence=True),
    KeyAction("page_down", "anywhere", "pagedown", "page(1)", "Scroll the conversation down", takes_precedence=True),
    KeyAction("line_up", "anywhere", "ctrl+up", "line(-1)", "Scroll up by a line", takes_precedence=True),
    KeyAction("line_down", "anywhere", "ctrl+down", "line(1)", "Scroll down by a line", takes_precedence=True),
    KeyAction("to_the_end", "anywhere", "ctrl+end", "end", "Go to the end and follow", takes_precedence=True),
    KeyAction("earlier_turn", "anywhere", "alt+up", "turn(-1)", "Go to the previous turn", takes_precedence=True),
    KeyAction("later_turn", "anywhere", "alt+down", "turn(1)", "Go to the next turn", takes_precedence=True),
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
        "Suspend to the shell (fg returns); in the prompt, undo typing",
    ),
    KeyAction("mark_up", "chat", "up,k", "mark(-1)", "Select the previous message"),
    KeyAction("mark_down", "chat", "down,j", "mark(1)", "Select the next message"),
    KeyAction("select_up", "chat", "shift+up", "mark(-1, True)", "Extend the selection up"),
    KeyAction("select_down", "chat", "shift+down", "mark(1, True)", "Extend the selection down"),
    KeyAction("mark_first", "chat", "home", "mark_end(-1)", "Select the first message"),
    KeyAction("mark_last", "chat", "end", "mark_end(1)", "Select the last message"),
    KeyAction("open_fold", "chat", "enter", "open", "Open or close the selected message", "Open/close"),
    KeyAction("copy", "chat", "c", "copy", "Copy the selection", "Copy"),
    KeyAction("copy_code", "chat", "y", "copy_code", "Copy its code only, block by block", "Copy code"),
    KeyAction("edit_prompt", "chat", "e", "on_block('edit')", "Edit this prompt and resend it", "Edit, resend"),
    KeyAction("fork_here", "chat", "f", "on_block('fork')", "Continue from here in a copy of the session", "Fork here"),
    KeyAction(
        "pin_marked",
        "chat",
        "p",
        "on_block('pin')",
        "Pin it so it always stays in context, or unpin it",
        "Pin",
    ),
    KeyAction("view_whole", "chat", "v", "on_block('view')", "Read it on its own screen", "View whole"),
    KeyAction("links", "chat", "o", "on_block('links')", "List its links", "Links"),
    KeyAction(
        "show_in_timeline", "chat", "g", "show_in_timeline", "Show its entry in the timeline", "Show in timeline"
    ),
    KeyAction("previous_fold", "chat", "[", "fold(-1)", "Go to the previous fold"),
    KeyAction("next_fold", "chat", "]", "fold(1)", "Go to the next fold"),
    KeyAction("open_entry", "timeline", "enter", "select", "Open the entry", "Open"),
    KeyAction("show_in_chat", "timeline", "g", "show_in_chat", "Show its message in the chat", "Show in chat"),
    KeyAction("filter", "timeline", "f", "filter", "Choose which kinds of entries to show", "Filter"),
)
