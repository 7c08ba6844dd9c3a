"""A file that belongs to a session, a project or a user, and what a store does with it."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from co_tui.paths import Paths

OnChange = Callable[[], None]
"""Called after a file was written or removed here. Returns at once."""


def not_synced() -> None:
    """For files that stay on this machine."""


class SyncedFile(NamedTuple):
    """A file, a part of one, or all files of a folder."""

    name: str
    """The same on every machine; of a folder it ends with a slash."""
    path: Path
    """Here."""
    kind: str
    """A key of `KINDS`."""
    key: str = ""
    """Which part of the file is meant; empty for all of it."""
    session_id: str = ""
    """The session whose owner alone may change it; empty if several machines may, which are then merged."""
    joins: bool = True
    """Whether a file that was never synced here takes over what is stored under its name. Otherwise it stays apart."""

    @property
    def is_folder(self) -> bool:
        return self.name.endswith("/")

    def file_in(self, name: str) -> "SyncedFile":
        """The file of a folder that has this name."""
        return self._replace(name=name, path=self.path / name.removeprefix(self.name))


def session_files(paths: Paths, session_id: str) -> SyncedFile:
    """All files of a session."""
    return SyncedFile(f"sessions/{session_id}/", paths.session(session_id), "session", session_id=session_id)


class FileSync(Protocol):
    """Keeps files equal on all machines that use a store. Never raises: without a connection, files stay as they are,
    and what was changed is sent later."""

    def refresh(self, *files: SyncedFile) -> None:
        """Bring files up to date, here and in the store. May wait for the network."""
        ...

    def changed(self, file: SyncedFile) -> None:
        """Send what was changed here, before any event that is logged from now on. Returns at once."""
        ...

    def unsent(self) -> int:
        """How many changes are only on this machine as yet."""
        ...


class LocalFiles:
    """The files here are the only ones."""

    def refresh(self, *files: SyncedFile) -> None:
        pass

    def changed(self, file: SyncedFile) -> None:
        pass

    def unsent(self) -> int:
        return 0


LOCAL_FILES: Final = LocalFiles()
