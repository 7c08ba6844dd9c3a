"""A folder whose snapshots are kept, turns that change it, and what is in it, read independently of the snapshots."""

import os
import stat
import subprocess
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from co_tui.events import Event, Fact, FilesChanged, Message
from co_tui.folders import Folders
from co_tui.paths import locate
from co_tui.session.recorder import Recorder
from co_tui.session.snapshots.file_restores import Consent, FileRestores, Restored
from co_tui.session.snapshots.session_files import SessionFiles
from co_tui.session.snapshots.several_folders import local_snapshots
from co_tui.session.state.derive import replay

Content = tuple[str, int, bytes]
PROMPT = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "go"}]}
PATH = os.environ.get("PATH", os.defpath)


def content_of(folder: Path) -> dict[str, Content]:
    """Everything in a folder but git's own: kind, permissions and bytes."""
    found: dict[str, Content] = {}
    for above, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if each != ".git"]
        for name in (*folders, *files):
            path = Path(above, name)
            found[str(path.relative_to(folder))] = _content(path)
    return found


def _content(path: Path) -> Content:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "link", 0, os.fsencode(path.readlink())
    if stat.S_ISDIR(mode):
        return "folder", 0, b""
    return "file", stat.S_IMODE(mode), path.read_bytes() if stat.S_ISREG(mode) else b""


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)


class _Writer:
    """A log in memory."""

    def __init__(self) -> None:
        self.log: list[Event] = []

    def append(self, session_id: str, facts: tuple[Fact, ...], **_: Any) -> "Future[tuple[Event, ...]]":
        first = len(self.log) + 1
        events = tuple(
            Event(session_id=session_id, seq=n, timestamp="", fact=fact) for n, fact in enumerate(facts, first)
        )
        self.log += events
        done: Future[tuple[Event, ...]] = Future()
        done.set_result(events)
        return done


class KeptFolder:
    """A session's folder, without the session."""

    def __init__(self, place: Path, *, path: str = PATH) -> None:
        self.folder = place / "folder"
        self.folder.mkdir(exist_ok=True)
        self.home = place / "home"
        self._path = path
        self._writer = _Writer()
        self.open()

    def open(self) -> None:
        """As a process that starts now."""
        state = replay(self._writer.log)
        self.recorder = Recorder("s", self._writer, state)  # type: ignore[arg-type]
        paths = locate({"CO_TUI_HOME": str(self.home)})
        self.files = SessionFiles(
            self.recorder, local_snapshots(paths, self.recorder.session_id, Folders(self.folder), {"PATH": self._path})
        )
        self.restores = FileRestores(self.files)

    async def prompt(self) -> int:
        """Begin a turn; returns its number."""
        turn = self.recorder.state.turn + 1
        await self.recorder.record(Message(turn=turn, message=PROMPT))
        return turn

    async def tool(self, change: Callable[[Path], object]) -> None:
        """A call of the session changes the folder."""
        async with self.files.around():
            change(self.folder)

    async def turn(self, *changes: Callable[[Path], object]) -> int:
        turn = await self.prompt()
        for change in changes:
            await self.tool(change)
        return turn

    async def rewind(self, turn: int, consent: Consent | None = None) -> Restored | None:
        """To before a turn; None if nothing changed since."""
        plan = await self.restores.plan_rewind(turn)
        return None if plan is None else await self.restores.restore(plan, consent or Consent())

    async def undo(self, consent: Consent | None = None) -> Restored:
        line = self.restores.undoable
        assert line is not None
        return await self.restores.restore(await self.restores.plan_undo(line), consent or Consent())

    @property
    def facts(self) -> list[Any]:
        return [event.fact for event in self._writer.log if not isinstance(event.fact, Message)]

    @property
    def changed(self) -> list[tuple[str, ...]]:
        return [fact.paths for fact in self.facts if isinstance(fact, FilesChanged)]

    @property
    def content(self) -> dict[str, Content]:
        return content_of(self.folder)


def write(name: str, text: str | bytes = "x") -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)

    return change


def remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()
