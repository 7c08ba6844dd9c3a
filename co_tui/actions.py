"""Everything a user can do by name or by key. Slash commands, palette, footer, help and the setting `keys` are all
built from these two tables.

To add a command: a row in `COMMANDS`, and a function under its name in `session/slash/GROUP_commands.py`; one that
opens a screen has a function in `ui/commands/GROUP_commands.py`, too, and one that is nothing without it only there.
To add a key: a row in `KEYS`; the widget's `BINDINGS` are `bindings(SCOPE)`, its method is `action_DOES`.
"""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

CommandGroup: TypeAlias = Literal[
    "conversation", "memory", "models", "prompt", "reports", "sessions", "settings", "view", "work"
]
KeyScope: TypeAlias = Literal["anywhere", "prompt", "chat", "timeline", "work"]
"""Where a key works: anywhere in the chat screen, or only while that widget has the focus."""
NeedsSession: TypeAlias = Literal["never", "with arguments", "always"]
KEY_SCOPES: Final[Mapping[KeyScope, str]] = {
    "anywhere": "anywhere",
    "prompt": "in the prompt",
    "chat": "in the chat, after Tab",
    "timeline": "in the timeline",
    "work": "in the lines of running work, after Tab",
}


class SlashCommand(NamedTuple):
    """A command that can be typed, chosen in the palette or bound to a key."""

    name: str
    group: CommandGroup
    help: str
    arguments: str = ""
    key: str = ""
    letter: str = ""
    """Runs it after the leader key, for keyboards without F-keys; the setting `keys` has it as `NAME_letter`."""
    label: str = ""
    """Shown with its key in the footer; empty keeps it out of the footer."""
    opens_screen: bool = False
    """Keys typed right after it go to the screen or field it opens."""
    needs_session: NeedsSession = "never"
    """Whether it queues with the prompts while its session is being opened."""
    instead: str = ""
    """What to use without a screen, for a command that needs one; empty for all others."""
    source: str = ""
    """Where a command comes from that is not built in: a file of the project or the user, or an MCP server."""
    aliases: tuple[str, ...] = ()
    """Other names people type for it; a command of the user's own with such a name comes first."""

    @property
    def described(self) -> str:
        """What it does, and its other names."""
        others = ", ".join(f"/{alias}" for alias in self.aliases)
        return f"{self.help} (also {others})" if others else self.help

    @property
    def slash(self) -> str:
        return f"/{self.name}"

    @property
    def key_help(self) -> str:
        """What its key does: without the part about its arguments, which a key cannot give."""
        what, _, more = self.help.partition(";")
        return what if any(word.strip("[]") in more for word in self.arguments.split()) else self.help

    @property
    def letter_name(self) -> str:
        """Its letter in the setting `keys`."""
        return f"{self.name}_letter"

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
        "help",
        "view",
        "Keys, commands and topics; TOPIC opens a page",
        "[TOPIC]",
        key="f1",
        letter="h",
        label="Help",
        opens_screen=True,
    ),
    SlashCommand(
        "sessions",
        "sessions",
        "Browse past sessions",
        key="f2",
        letter="s",
        label="Sessions",
        opens_screen=True,
        instead="`co-tui sessions`",
    ),
    SlashCommand(
        "lens",
        "reports",
        "Show the next request, message by message",
        key="f3",
        letter="l",
        label="Lens",
        opens_screen=True,
        needs_session="always",
        instead="`co-tui lens ID`",
    ),
    SlashCommand(
        "side", "view", "Show or hide context and timeline", key="f4", letter="b", label="Side", instead="`co-tui`"
    ),
    SlashCommand(
        "timeline", "view", "Go to the timeline", key="ctrl+l", letter="t", label="Timeline", instead="`co-tui show ID`"
    ),
    SlashCommand(
        "compact",
        "conversation",
        "Summarise older messages; FOCUS says what to keep",
        "[--deep] [FOCUS]",
        key="f5",
        letter="c",
        label="Compact",
        needs_session="always",
    ),
    SlashCommand(
        "model",
        "models",
        "Choose a model",
        "[MODEL]",
        key="f6",
        letter="m",
        label="Model",
        opens_screen=True,
        needs_session="with arguments",
    ),
    SlashCommand("fetch", "models", "Download the embedded model, which works offline", instead="`co-tui`"),
    SlashCommand(
        "login",
        "models",
        "Enter or remove a provider's key",
        "[PROVIDER]",
        opens_screen=True,
        instead="`co-tui login PROVIDER`",
    ),
    SlashCommand("new", "sessions", "Start a new session", key="f7", letter="n", instead="`co-tui run -p PROMPT`"),
    SlashCommand(
        "clear",
        "conversation",
        "Clear the context (history is kept)",
        key="f8",
        letter="k",
        label="Clear",
        needs_session="always",
    ),
    SlashCommand(
        "find",
        "view",
        "Search this conversation",
        "[TEXT]",
        key="ctrl+f",
        letter="f",
        opens_screen=True,
        instead="`co-tui sessions --search TEXT`",
    ),
    SlashCommand(
        "prompts",
        "prompt",
        "Search earlier prompts",
        key="ctrl+r",
        letter="r",
        opens_screen=True,
        instead="`co-tui sessions --search TEXT`",
    ),
    SlashCommand(
        "editor", "prompt", "Edit the prompt in $VISUAL or $EDITOR", key="ctrl+g", letter="e", instead="`co-tui`"
    ),
    SlashCommand(
        "folds", "view", "Expand or collapse all tool calls and thinking", key="ctrl+o", letter="o", instead="`co-tui`"
    ),
    SlashCommand("continue", "conversation", "Continue a stopped turn", key="f9", letter="g", needs_session="always"),
    SlashCommand(
        "undo",
        "conversation",
        "Undo the last compaction, clear, rewind or restore",
        "[EVENT]",
        letter="u",
        needs_session="always",
    ),
    SlashCommand(
        "rewind",
        "conversation",
        "Go back to before a turn: the conversation, files, or both",
        "[TURN] [conversation | files | both]",
        letter="w",
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
        "Continue in a copy of this session, whole or from an event",
        "[EVENT]",
        needs_session="always",
    ),
    SlashCommand(
        "session", "reports", "List the checkpoints written by compactions", "checkpoints", needs_session="always"
    ),
    SlashCommand(
        "queue", "conversation", "View, edit, reorder or drop queued prompts", opens_screen=True, instead="`co-tui`"
    ),
    SlashCommand(
        "tasks",
        "work",
        "View or stop background commands and delegations",
        opens_screen=True,
        needs_session="always",
        instead="`co-tui --resume ID`",
    ),
    SlashCommand(
        "commands",
        "work",
        "Like /tasks",
        opens_screen=True,
        needs_session="always",
        instead="`co-tui --resume ID`",
    ),
    SlashCommand(
        "background",
        "work",
        "Move the running command to the background",
        key="ctrl+b",
        instead="`co-tui`",
    ),
    SlashCommand("plan", "work", "Show the plan", needs_session="always"),
    SlashCommand("diff", "work", "Show what this session changed, by file", opens_screen=True, needs_session="always"),
    SlashCommand(
        "add-dir",
        "work",
        "List the folders of this session, add one or remove it",
        "[PATH | --remove PATH]",
        needs_session="with arguments",
    ),
    SlashCommand("mode", "work", "Choose what runs without asking: ask, edits, plan or auto", "[MODE]"),
    SlashCommand(
        "review",
        "work",
        "Let the model review the edits of this session, or the branch's changes",
        "[FOCUS]",
        needs_session="always",
    ),
    SlashCommand(
        "approvals",
        "work",
        "View, add or revoke approval rules",
        "[WORDS]",
        opens_screen=True,
        aliases=("permissions",),
    ),
    SlashCommand("hooks", "work", "List your hooks and how each last ended"),
    SlashCommand(
        "init",
        "work",
        "Let the model write AGENTS.md, its instructions for this folder",
        "[WORDS]",
        needs_session="always",
    ),
    SlashCommand("history", "reports", "Count turns and messages", needs_session="always"),
    SlashCommand(
        "context",
        "reports",
        "Show what fills the context; `instructions` shows what every request includes",
        "[instructions | clear]",
        needs_session="always",
        aliases=("cost", "usage", "status"),
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
    SlashCommand("agents", "work", "List the agents the model can delegate to"),
    SlashCommand(
        "agent",
        "work",
        "Hand the conversation to another agent; `main` hands it back",
        "[NAME]",
        needs_session="with arguments",
    ),
    SlashCommand("settings", "settings", "View and change settings", "[WORDS]", opens_screen=True, instead="`/config`"),
    SlashCommand(
        "config",
        "settings",
        "Print settings and their sources, or set one",
        "[KEY [VALUE]]",
        needs_session="with arguments",
    ),
    SlashCommand(
        "policy",
        "settings",
        "Choose a context policy; compares them on this conversation",
        "[POLICY]",
        letter="y",
        opens_screen=True,
        needs_session="with arguments",
    ),
    SlashCommand(
        "mcp", "reports", "Show and add MCP servers; `restart` restarts failed ones", "[restart]", opens_screen=True
    ),
    SlashCommand(
        "resume",
        "sessions",
        "Resume a past session",
        "[ID]",
        opens_screen=True,
        instead="`co-tui run --resume ID -p PROMPT`",
    ),
    SlashCommand("rename", "sessions", "Rename this session", "[TITLE]", needs_session="always"),
    SlashCommand(
        "export",
        "sessions",
        "Export this session as markdown, jsonl or html",
        "[FORMAT] [FILE]",
        needs_session="always",
    ),
    SlashCommand(
        "share",
        "sessions",
        "Let the other users of the database read this session; `off` stops it",
        "[off]",
        needs_session="always",
    ),
    SlashCommand("example", "sessions", "Open an example session to try things on", instead="`co-tui example`"),
    SlashCommand("import", "sessions", "Import sessions of other programs", instead="`co-tui import`"),
    SlashCommand("theme", "view", "Switch between dark and light, or choose a theme", "[THEME]"),
    SlashCommand(
        "copy-reply",
        "view",
        "Copy the selection, else the last reply",
        instead="`co-tui show ID`",
        aliases=("copy",),
    ),
    SlashCommand("doctor", "reports", "Check the installation"),
    SlashCommand(
        "quit",
        "view",
        "Quit; everything is saved",
        key="ctrl+q",
        letter="q",
        instead="`co-tui`",
        aliases=("exit",),
    ),
)

KEYS: Final = (
    KeyAction(
        "newline", "prompt", "ctrl+j", "newline", "New line (also Shift+Enter, or \\ at the end of a line)", "Newline"
    ),
    KeyAction("steer", "prompt", "alt+enter", "steer", "Add to the running turn: the model sees it with its next step"),
    KeyAction("paste", "prompt", "ctrl+v", "paste", "Paste an image from the clipboard, or text copied here"),
    KeyAction("open_pasted", "prompt", "ctrl+t", "open_pasted", "Open folded pasted text (it is sent whole)"),
    KeyAction("keys_here", "anywhere", "?", "app.keys_here", "Show the keys that work here (in an empty prompt)"),
    KeyAction(
        "leader",
        "anywhere",
        "ctrl+x",
        "app.leader",
        "Then a letter runs a command, for keyboards without F-keys (cuts if text is selected)",
        takes_precedence=True,
    ),
    KeyAction("page_up", "anywhere", "pageup", "page(-1)", "Scroll up", takes_precedence=True),
    KeyAction("page_down", "anywhere", "pagedown", "page(1)", "Scroll down", takes_precedence=True),
    KeyAction("line_up", "anywhere", "ctrl+up", "line(-1)", "Scroll up one line", takes_precedence=True),
    KeyAction("line_down", "anywhere", "ctrl+down", "line(1)", "Scroll down one line", takes_precedence=True),
    KeyAction("to_the_end", "anywhere", "ctrl+end", "end", "Jump to the end and follow", takes_precedence=True),
    KeyAction("earlier_turn", "anywhere", "alt+up", "turn(-1)", "Previous turn", takes_precedence=True),
    KeyAction("later_turn", "anywhere", "alt+down", "turn(1)", "Next turn", takes_precedence=True),
    KeyAction(
        "next_mode",
        "anywhere",
        "shift+tab",
        "next_mode",
        "Switch mode: ask, edits, plan, auto",
        takes_precedence=True,
    ),
    KeyAction(
        "suspend",
        "anywhere",
        "ctrl+z",
        "app.suspend_process",
        "Undo typing in the prompt; elsewhere suspend to the shell (fg returns)",
    ),
    KeyAction("mark_up", "chat", "up,k", "mark(-1)", "Select the previous message"),
    KeyAction("mark_down", "chat", "down,j", "mark(1)", "Select the next message"),
    KeyAction("select_up", "chat", "shift+up", "mark(-1, True)", "Extend the selection up"),
    KeyAction("select_down", "chat", "shift+down", "mark(1, True)", "Extend the selection down"),
    KeyAction("mark_first", "chat", "home", "mark_end(-1)", "Select the first message"),
    KeyAction("mark_last", "chat", "end", "mark_end(1)", "Select the last message"),
    KeyAction("open_fold", "chat", "enter", "open", "Expand or collapse", "Open/close"),
    KeyAction("copy", "chat", "c", "copy", "Copy", "Copy"),
    KeyAction("copy_code", "chat", "y", "copy_code", "Copy only the code", "Copy code"),
    KeyAction("edit_prompt", "chat", "e", "on_block('edit')", "Edit a prompt and resend it", "Edit, resend"),
    KeyAction("fork_here", "chat", "f", "on_block('fork')", "Fork the session from here", "Fork here"),
    KeyAction(
        "pin_marked",
        "chat",
        "p",
        "on_block('pin')",
        "Pin or unpin: pinned messages always stay in the context",
        "Pin",
    ),
    KeyAction("view_whole", "chat", "v", "on_block('view')", "View in full screen", "View whole"),
    KeyAction("links", "chat", "o", "on_block('links')", "List links", "Links"),
    KeyAction("show_in_timeline", "chat", "g", "show_in_timeline", "Show in the timeline", "Show in timeline"),
    KeyAction("previous_fold", "chat", "[", "fold(-1)", "Previous fold"),
    KeyAction("next_fold", "chat", "]", "fold(1)", "Next fold"),
    KeyAction("open_entry", "timeline", "enter", "select", "Open the entry", "Open"),
    KeyAction("show_in_chat", "timeline", "g", "show_in_chat", "Show in the chat", "Show in chat"),
    KeyAction("previous_work", "work", "up,k", "move(-1)", "Select the previous line"),
    KeyAction("next_work", "work", "down,j", "move(1)", "Select the next line"),
    KeyAction("open_work", "work", "enter", "open", "Open what runs, or the plan", "Open"),
    KeyAction("stop_work", "work", "x", "stop", "Stop what runs", "Stop it"),
    KeyAction("filter", "timeline", "f", "filter", "Filter entries by kind", "Filter"),
)
