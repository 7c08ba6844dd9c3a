"""Ask whether to keep what a command in the sandbox created under a protected name."""

import asyncio
import os
from pathlib import Path
from typing import Final

from co_tui.session.approvals.questions import ApprovalQuestion, Questions
from co_tui.session.tools.folder.file_changes import new_file_diff
from co_tui.session.tools.folder.folder_guard import CreatedProtected, SetAside

REASON: Final = "A sandboxed command created it. It can make programs run."
MOST_SHOWN_BYTES: Final = 100_000
MOST_FILES: Final = 20


class CreatedFiles:
    """Moves back what the user wants to keep. Until then it is where it has no effect."""

    def __init__(self, questions: Questions, folder: Path) -> None:
        """`folder` is the one that relative paths start in."""
        self._questions, self._folder = questions, Path(os.path.realpath(folder))

    async def ask(self, created: CreatedProtected) -> CreatedProtected | None:
        """Returns what stays moved away."""
        left = [each for each in created.files if not await self._kept(created.folder, each)]
        return created._replace(files=tuple(left)) if left else None

    async def _kept(self, folder: Path, file: SetAside) -> bool:
        if file.kept is None or file.restored:
            return False
        name = file.name if folder == self._folder else str(folder / file.name)
        question = ApprovalQuestion(
            tool="write_file",
            arguments={"path": name},
            what=await asyncio.to_thread(_shown, name, file.kept),
            new=(name,),
            reason=REASON,
        )
        answer = await self._questions.approve(question)
        return answer.approved and await asyncio.to_thread(_put_back, file.kept, folder / file.name)


def _shown(name: str, kept: Path) -> str:
    """The content of a file or folder as a diff; for a link, its target."""
    if kept.is_symlink():
        return new_file_diff(name, f"a link to {kept.readlink()}\n".encode())
    if kept.is_file():
        return new_file_diff(name, _content(kept))
    files = sorted(path for path in kept.rglob("*") if path.is_file() or path.is_symlink())[:MOST_FILES]
    return "\n".join(_shown(f"{name}/{path.relative_to(kept)}", path) for path in files) or f"creates the folder {name}"


def _content(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(MOST_SHOWN_BYTES)


def _put_back(kept: Path, target: Path) -> bool:
    """False if something else is there by now."""
    try:
        if os.path.lexists(target):
            return False
        kept.rename(target)
    except OSError:
        return False
    return True
