"""The life of a session: start, end, and changes of model, policy, mode and folders."""

from collections.abc import Callable
from typing import Final

from co_tui.events.facts.base import NOTHING, Announced, Json, Logged
from co_tui.events.model_names import model_name, short_name
from co_tui.events.symbols import EntryKind, EntryStyle, EntryWeight
from co_tui.events.wording import MODEL_CHARS, ExportEntry, long, mode_name, short
from co_tui.inert import one_line


class SessionOrigin(Logged):
    """Where a session runs, and with which model and policy."""

    model: str = ""
    policy: str = ""
    cwd: str = ""
    repository: str = ""
    branch: str = ""
    repository_id: str = ""
    """The repository as `host/path` of its remote, the same on every machine; empty if unknown."""
    host: str = ""
    """The name of the machine; empty if unknown."""
    mark: str = ""
    """See `MARK`."""


class SessionStart(SessionOrigin):
    TYPE = "session.start"
    ENTRY = EntryStyle("○", EntryKind.SESSION, EntryWeight.LIGHT, is_quiet=True)
    surroundings: Json = NOTHING
    """What the system prompt says about machine and folder: the fields of `Surroundings`."""

    def timeline_text(self) -> str:
        return f"session started\n{one_line(model_name(self.model), MODEL_CHARS)}"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(f"Session started{f' with {long(self.model)}' if self.model else ''}")


class Surroundings(Logged):
    """Machine and folder changed since the session began, which a note in a prompt says."""

    TYPE = "session.surroundings"
    ENTRY = EntryStyle("○", EntryKind.SESSION, EntryWeight.LIGHT, is_quiet=True)
    NEEDS_SESSION = True
    date: str = ""
    platform: str = ""
    shell: str = ""
    folder: str = ""
    branch: str = ""
    state: str = ""
    """Of the repository: how much is changed."""
    mark: str = ""
    """See `MARK`."""

    def timeline_text(self) -> str:
        return f"date and branch noted\n{short(' · '.join(filter(None, (self.date, self.branch, self.state))))}"

    def export_entry(self) -> ExportEntry | None:
        return None


class SessionResume(SessionOrigin):
    TYPE = "session.resume"
    ENTRY = EntryStyle("○", EntryKind.SESSION, EntryWeight.LIGHT, is_quiet=True)
    NEEDS_SESSION = True

    def timeline_text(self) -> str:
        return "session resumed"

    def export_entry(self) -> ExportEntry:
        return ExportEntry("Session resumed")


class SessionFork(SessionOrigin):
    TYPE = "session.fork"
    ENTRY = EntryStyle("↗", EntryKind.SESSION)
    source_session_id: str
    source_seq: int

    def timeline_text(self) -> str:
        return f"forked from {one_line(self.source_session_id[-6:], 6)}"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(f"Forked from {long(self.source_session_id)}")


class SessionRename(SessionOrigin):
    TYPE = "session.rename"
    ENTRY = EntryStyle("✎", EntryKind.SESSION, EntryWeight.LIGHT, is_quiet=True)
    NEEDS_SESSION = True
    title: str
    by: str = ""
    """The model that wrote the title; empty if the user did."""
    cost: float | None = None
    """In older logs, what `RequestBilled` says now."""

    def timeline_text(self) -> str:
        return f"{'named' if self.by else 'renamed'}\n{short(self.title)}"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(f"Named “{long(self.title)}”")


class SessionPinned(Logged):
    """The session was pinned (listed first, never cleaned up) or unpinned."""

    TYPE = "session.pinned"
    ENTRY = EntryStyle("◉", EntryKind.SESSION, EntryWeight.LIGHT, is_quiet=True)
    NEEDS_SESSION = True
    pinned: bool = True

    def timeline_text(self) -> str:
        return "session pinned" if self.pinned else "session unpinned"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(self.timeline_text().capitalize())


class SessionTrashed(Logged):
    """The session was put into the trash or restored from it."""

    TYPE = "session.trashed"
    ENTRY = EntryStyle("⌫", EntryKind.SESSION, is_quiet=True)
    NEEDS_SESSION = True
    trashed: bool = True
    reason: str = ""
    """Why, if it was not the user."""

    def timeline_text(self) -> str:
        return "moved to the trash" if self.trashed else "restored from the trash"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(f"Session {'moved to' if self.trashed else 'restored from'} the trash")


IMPORTED_FROM: Final = "imported from"
"""How the reason of an imported session's end begins; the program follows."""


class SessionEnd(SessionOrigin):
    TYPE = "session.end"
    ENTRY = EntryStyle("◌", EntryKind.SESSION, EntryWeight.LIGHT, is_quiet=True)
    reason: str = ""
    reader: int = 0
    """Which version of the reader imported what comes before; 0 if it was not imported, or by one that kept none."""

    @property
    def program(self) -> str:
        """The program that wrote what comes before, if that was imported."""
        return self.reason.removeprefix(IMPORTED_FROM).strip() if self.reason.startswith(IMPORTED_FROM) else ""

    def timeline_text(self) -> str:
        return "session left"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(f"Session left{f' ({long(self.reason)})' if self.reason not in ('', 'left') else ''}")


class ModelChange(Logged):
    TYPE = "session.model_change"
    ENTRY = EntryStyle("⇄", EntryKind.CHANGE)
    from_: str
    to: str
    """Empty in the log of another user: the model does not count here."""
    window_before: int | None = None
    window_after: int | None = None
    for_agent: str = ""
    """The agent that brings the model with it, or that uses a slash command's; until it hands back or the command ends,
    the main agent's is remembered."""
    mark: str = ""
    """See `MARK`."""

    def timeline_text(self) -> str:
        return f"model → {one_line(model_name(self.to), MODEL_CHARS)}" if self.to else "model changed"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(f"Model changed{f' to {long(short_name(self.to))}' if self.to else ''}")


class PolicyChange(Logged):
    TYPE = "session.policy_change"
    ENTRY = EntryStyle("⇄", EntryKind.CHANGE)
    from_: str
    to: str
    """Empty for a file in a log from elsewhere: such a policy does not count here."""
    window_before: int | None = None
    window_after: int | None = None

    def timeline_text(self) -> str:
        return f"policy → {short(self.to)}" if self.to else "policy changed"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(f"Policy changed{f' to {long(self.to)}' if self.to else ''}")


class ModeChange(Logged):
    """The permission mode changed."""

    TYPE = "session.mode_change"
    ENTRY = EntryStyle("⇄", EntryKind.CHANGE)
    from_: str
    to: str
    """Empty in the log of another user: the mode does not count here."""

    def timeline_text(self) -> str:
        return f"mode → {short(mode_name(self.to))}" if self.to else "mode changed"

    def export_entry(self) -> ExportEntry:
        return ExportEntry(f"Mode changed{f' to {long(mode_name(self.to))}' if self.to else ''}")


class FoldersChanged(Logged):
    """Folders were added to the one the session works in, or removed again."""

    TYPE = "session.folders_changed"
    ENTRY = EntryStyle("⇄", EntryKind.CHANGE)
    added: tuple[str, ...] = ()
    """Real paths; empty in a log from elsewhere: they do not count here."""
    removed: tuple[str, ...] = ()
    mark: str = ""
    """See `MARK`."""

    def timeline_text(self) -> str:
        return short("; ".join(self._done("folder", short))) or "folder added"

    def export_entry(self) -> ExportEntry:
        return ExportEntry("; ".join(self._done("Folder", long)) or "Folder added")

    def _done(self, what: str, shown: Callable[[str], str]) -> list[str]:
        each = (("added", self.added), ("removed", self.removed))
        return [f"{what} {done}: {shown(', '.join(paths))}" for done, paths in each if paths]


class QueueChanged(Announced):
    """The queue of waiting prompts changed. Each prompt is logged when its turn starts."""

    TYPE = "queue.changed"
    prompts: tuple[str, ...]
    """All waiting prompts, in order."""
    held: int = 0
    """How many of them are on hold until the user releases them."""


class PromptReturned(Announced):
    """A waiting prompt will not be sent; it returns to the prompt box."""

    TYPE = "prompt.returned"
    prompt: str
