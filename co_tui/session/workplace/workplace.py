"""Where sessions work: one folder, of this machine or on another host. Light enough for the first paint."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from co_tui.folders import Folders
from co_tui.session.file_references import NamedFile, NamedFiles

if TYPE_CHECKING:
    from co_tui.events import Surroundings
    from co_tui.session.workplace.branch_changes import BranchChanges
    from co_tui.session.workplace.session_workplace import SessionParts, SessionWorkplace
    from co_tui.settings.permission_rules import RuleInForce


class Workplace(ABC):
    """Chosen once, when co-tui starts; everything else asks it, wherever the folder is."""

    folder: Path
    """A folder of this machine: the one to work in, or an empty one that takes the place of a host's."""
    folders: Folders
    """Those of the session opened last; before the first, what it will begin with."""
    add_dirs: tuple[str, ...] = ()
    """Folders that are added to each session opened here."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The folder, for the log and for people: `/srv/app`, or `user@box:/srv/app`."""

    @property
    @abstractmethod
    def host_text(self) -> str:
        """The same for a folder on another host; empty for one of this machine."""

    @property
    @abstractmethod
    def at_home(self) -> bool:
        """Whether the folder is the home of its user, or above it."""

    @property
    @abstractmethod
    def repository(self) -> tuple[str, str]:
        """The repository of the folder and its branch; both empty without one."""

    @property
    @abstractmethod
    def saves_in(self) -> Path:
        """Where exported files go: a folder of this machine."""

    @abstractmethod
    def in_folder(self, folder: Path) -> "Workplace":
        """The same for another folder of this machine; a host keeps its own."""

    @abstractmethod
    def can_move_to(self, recorded: str) -> bool:
        """Whether a session that worked in this folder, as its log has it, can be continued there."""

    @abstractmethod
    def resume_hint(self, recorded: str, session_id: str) -> str:
        """Where else to continue a session that worked in this folder; empty if it can be continued here."""

    @abstractmethod
    async def surroundings(self, environ: Mapping[str, str], *, with_state: bool = False) -> "Surroundings":
        """Date, platform, shell, folder and branch now; `with_state`, also the state of the repository."""

    @abstractmethod
    def list_files(self) -> list[str]:
        """Paths in the folders that a prompt can name, latest changed first. Slow; does not raise."""

    @abstractmethod
    def named_files(self, text: str, servers: Collection[str] = ()) -> NamedFiles:
        """The files that a prompt references, and resources of these MCP servers. Quick: a host is not asked."""

    @abstractmethod
    async def attached(self, file: NamedFile) -> NamedFile:
        """A referenced file, ready to be attached. Raises OSError, FileNotFoundError if there is none: a sentence."""

    @abstractmethod
    def holds(self, file: NamedFile) -> bool:
        """Whether a referenced file is in one of the folders."""

    @abstractmethod
    def branch_changes(self, environ: Mapping[str, str], hides: "Sequence[RuleInForce]") -> "BranchChanges":
        """What changed on the branch, without files that these rules hide. Slow. Raises `ReviewRefused`."""

    @abstractmethod
    def for_session(self, parts: "SessionParts") -> "SessionWorkplace":
        """What a session uses of it."""
