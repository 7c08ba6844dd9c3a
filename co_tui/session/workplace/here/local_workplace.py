"""A folder of this machine."""

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Final

from co_tui.folders import Folders
from co_tui.inert import one_line
from co_tui.paths import home_text, is_inside, path_text
from co_tui.session.checkout import repository_of
from co_tui.session.workplace.workplace import Workplace

if TYPE_CHECKING:
    from co_tui.events import Surroundings
    from co_tui.session.file_references import NamedFile, NamedFiles
    from co_tui.session.workplace.branch_changes import BranchChanges
    from co_tui.session.workplace.session_workplace import SessionParts, SessionWorkplace
    from co_tui.settings.permission_rules import RuleInForce

LONGEST_S: Final = 2.0
"""For the state of the repository; a session starts without it if it takes longer."""
NAME_CHARS: Final = 200


class LocalWorkplace(Workplace):
    """Files and commands are this machine's."""

    def __init__(self, folder: Path, add_dirs: Sequence[str] = ()) -> None:
        """`add_dirs` are real paths."""
        self.folder = folder
        self.add_dirs = tuple(add_dirs)
        self.folders = Folders(folder)
        self.folders.use([*map(Path, add_dirs)])

    @property
    def text(self) -> str:
        return path_text(self.folder)

    @property
    def host_text(self) -> str:
        return ""

    @property
    def at_home(self) -> bool:
        return is_inside(Path.home(), Path(os.path.realpath(self.folder)))

    @property
    def repository(self) -> tuple[str, str]:
        return repository_of(self.folder)

    @property
    def saves_in(self) -> Path:
        return self.folder

    def in_folder(self, folder: Path) -> Workplace:
        return LocalWorkplace(folder, self.add_dirs)

    def can_move_to(self, recorded: str) -> bool:
        from co_tui.session.workplace.host.address import recorded_address

        return recorded_address(recorded) is None

    def resume_hint(self, recorded: str, session_id: str) -> str:
        from co_tui.session.workplace.host.address import recorded_address, resume_hint

        address = recorded_address(recorded)
        return resume_hint(address, session_id) if address is not None else ""

    async def surroundings(self, environ: Mapping[str, str], *, with_state: bool = False) -> "Surroundings":
        import asyncio  # what only lists sessions needs none of it

        now = await asyncio.to_thread(self._surroundings, environ)
        if not now.branch or not with_state:
            return now
        with suppress(TimeoutError):
            changed = await asyncio.wait_for(asyncio.to_thread(self._changed_files, environ), LONGEST_S)
            return now.but(state=state_text(changed))
        return now

    def _surroundings(self, environ: Mapping[str, str]) -> "Surroundings":
        import platform

        from co_tui.events import Surroundings  # the first paint needs no facts

        return Surroundings(
            date=today(),
            platform=f"{platform.system()} {platform.release()} ({platform.machine()})",
            shell=one_line(Path(environ.get("SHELL") or "sh").name, NAME_CHARS),
            folder=self.text,
            branch=one_line(self.repository[1], NAME_CHARS),
        )

    def _changed_files(self, environ: Mapping[str, str]) -> int | None:
        from co_tui.agent.permissions.git_state import changed_files

        names = ("PATH", "HOME", "XDG_CONFIG_HOME")  # where programs are, and whose configuration to read
        return changed_files(self.folder, {name: environ[name] for name in names if name in environ})

    def list_files(self) -> list[str]:
        from co_tui.session.workplace.listed_files import find_files

        added = (f"{home_text(str(each))}/{name}" for each in self.folders.added for name in find_files(each))
        return [*find_files(self.folder), *added]

    def named_files(self, text: str, servers: Collection[str] = ()) -> "NamedFiles":
        from co_tui.session.file_references import named_files

        return named_files(text, self.folder, servers)

    async def attached(self, file: "NamedFile") -> "NamedFile":
        if not file.is_folder:
            return file
        import asyncio

        from co_tui.session.workplace.listed_files import folder_listing

        listing = await asyncio.to_thread(folder_listing, file.path)
        return file._replace(data=listing.encode(), is_folder=False)

    def holds(self, file: "NamedFile") -> bool:
        return is_inside(file.path, self.folder.resolve()) or self.folders.holder(file.path) is not None

    def branch_changes(self, environ: Mapping[str, str], hides: "Sequence[RuleInForce]") -> "BranchChanges":
        from co_tui.session.workplace.branch_changes import branch_changes

        return branch_changes(self.folder, environ, hides)

    def for_session(self, parts: "SessionParts") -> "SessionWorkplace":
        from co_tui.session.workplace.here.local_session import LocalSession

        session = LocalSession(self.folder, parts)
        self.folders = session.folders
        return session


def today() -> str:
    """The date, for the model."""
    return f"{date.today():%Y-%m-%d, %A}"


def state_text(changed: int | None) -> str:
    """The state of a repository with so many changed files; nothing if that is not known."""
    return "" if changed is None else "no changes" if not changed else f"{changed:,} changed or new files"
