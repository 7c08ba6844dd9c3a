"""Run as a program: a child restores files and kills itself at a step with SIGKILL; another process looks after it."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from co_tui.events import Message, SessionStart
from co_tui.folders import Folders
from co_tui.paths import locate
from co_tui.session.recorder import Recorder
from co_tui.session.snapshots import file_restores, open_folder, session_snapshots
from co_tui.session.snapshots.file_restores import Consent, FileRestores
from co_tui.session.snapshots.journal import Journal, Line
from co_tui.session.snapshots.session_files import SessionFiles
from co_tui.session.snapshots.several_folders import local_snapshots
from co_tui.session.state.derive import replay
from co_tui.store.sqlite.store import SqliteStore
from tests.support.kept_folders import PATH, PROMPT, content_of, write

SESSION = "20260101-000000-000000"
BEFORE = {"a": "1", "b": "1", "d/x": "1", "deep/y": "1", "gone": "1", "swap": "1"}


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _killing(owner: Any, name: str, number: int = 1, *, after: bool = False) -> None:
    """Kill at the nth call of a function, before or after it."""
    original, calls = getattr(owner, name), [0]

    def patched(*args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        if calls[0] == number and not after:
            _kill()
        result = original(*args, **kwargs)
        if calls[0] == number:
            _kill()
        return result

    setattr(owner, name, patched)


def _at_the_journal() -> None:
    add = Journal.add

    def patched(self: Journal, line: Line) -> None:
        if line.kind == "restore":
            _kill()
        add(self, line)

    Journal.add = patched  # type: ignore[method-assign]


STEPS: dict[str, Callable[[], None]] = {
    "planned": lambda: _killing(file_restores, "write_intent", after=True),
    "logged": lambda: _killing(session_snapshots, "carry_out"),
    "removed": lambda: _killing(open_folder.OpenFolder, "remove", 2),
    "folder": lambda: _killing(open_folder.OpenFolder, "make_folder", after=True),
    "written": lambda: _killing(open_folder.OpenFolder, "write", 3),
    "half": lambda: _killing(open_folder, "_write", 2, after=True),
    "done": _at_the_journal,
}


def opened(root: Path) -> tuple[FileRestores, SqliteStore, Recorder]:
    paths = locate({"CO_TUI_HOME": str(root / "home")})
    store = SqliteStore(paths)
    with store.reading() as reading:
        state = replay(reading.events(SESSION))
    recorder = Recorder(SESSION, store.writing(), state)
    snapshots = local_snapshots(paths, recorder.session_id, Folders(root / "folder"), {"PATH": PATH})
    return FileRestores(SessionFiles(recorder, snapshots)), store, recorder


def _change(folder: Path) -> None:
    for name in ("a", "b", "new/n", "d/x"):
        write(name, "2")(folder)
    (folder / "gone").unlink()
    shutil.rmtree(folder / "deep")
    (folder / "swap").unlink()
    write("swap/inner", "2")(folder)


async def work(root: Path, step: str) -> None:
    folder = root / "folder"
    for name, text in BEFORE.items():
        write(name, text)(folder)
    restores, _, recorder = opened(root)
    await recorder.record(SessionStart(cwd=str(folder)), Message(turn=1, message=PROMPT))
    async with restores._files.around():
        _change(folder)
    plan = await restores.plan_rewind(1)
    assert plan is not None
    STEPS[step]()
    await restores.restore(plan, Consent())


async def look(root: Path) -> dict[str, Any]:
    """What the next process says, what is there then, and what it says the time after."""
    restores, store, _ = opened(root)
    said = await restores.recover()
    found = {
        name: content.decode() for name, (kind, _, content) in content_of(root / "folder").items() if kind == "file"
    }
    again = await restores.recover()
    undoable = restores.undoable is not None
    store.close()
    return {"said": said, "found": found, "again": again, "undoable": undoable}


def main(root: Path) -> None:
    for step in STEPS:
        place = root / step
        (place / "folder").mkdir(parents=True)
        child = os.fork()
        if child == 0:
            asyncio.run(work(place, step))
            os._exit(1)  # it should have been killed
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, f"{step}: {status}"
    print(json.dumps({step: asyncio.run(look(root / step)) for step in STEPS}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
