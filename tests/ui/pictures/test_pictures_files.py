"""Files that come back, as pictures: what is offered, what is asked, and what changed."""

from pathlib import Path

from co_tui.session.snapshots.entries import FileEntry, Snapshot
from co_tui.session.snapshots.file_diffs import FileChange, SessionChanges
from co_tui.session.snapshots.restore import plan_restore
from co_tui.session.snapshots.touched import Touched
from co_tui.ui.files.changes_screen import ChangesScreen
from co_tui.ui.files.choice_screen import ChoiceScreen, overwrite_question, rewind_question
from tests.support.pictures import Pictures
from tests.support.provider import Provider
from tests.support.screen import launch_for
from tests.ui.pictures.test_pictures import Frozen
from tests.ui.pictures.test_pictures_dialogs import pushed

EDIT = (
    "--- src/login.py\n+++ src/login.py\n@@ -1,3 +1,4 @@\n import os\n \n"
    '-def store(): return open_store()\n+def store(tmp_path):\n+    return open_store(tmp_path, mode="w")'
)
NEW = "--- new file\n+++ src/stores/memory.py\n@@ -0,0 +1,2 @@\n+STORES = {}\n+LIMIT = 10"
CHANGES = SessionChanges(
    [
        FileChange("src/login.py", "changed", EDIT),
        FileChange("src/stores/memory.py", "new", NEW),
        FileChange("assets/logo.png", "deleted", "binary: 10,240 bytes become 0 bytes"),
        FileChange("[bold]odd[/bold] name", "changed", "permissions 644 become 755"),
    ]
)


def offered() -> ChoiceScreen:
    files = {f"src/module_{n}.py": FileEntry(0o100644, str(n)) for n in range(12)}
    before, now = Snapshot("1", files, {}), Snapshot("2", {}, {})
    return rewind_question(
        plan_restore(Touched(before.entries, frozenset()), before, now, turn=10)._replace(
            not_covered=("data/large.bin",)
        )
    )


async def test_files(pictures: Pictures, home: Path, provider: Provider) -> None:
    scenes = {
        "rewind": pushed(offered),
        "overwrite": pushed(lambda: overwrite_question(["notes.md", "src/[red]mine[/red].py"])),
        "changes": pushed(lambda: ChangesScreen(CHANGES)),
    }
    await pictures.of_each(Frozen(launch_for(home, provider)), scenes)
