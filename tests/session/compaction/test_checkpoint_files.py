"""Checkpoint files follow the history: what is undone leaves, what comes back returns, a fork has its own."""

from pathlib import Path

import pytest

from co_tui.session.session import Session
from co_tui.store.notes.checkpoints import Checkpoints
from tests.support.compacting import read
from tests.support.provider import Provider
from tests.support.talks import fill, talk, talking

pytestmark = pytest.mark.usefixtures("long_answers")


def kept_files(session: Session, session_id: str = "") -> tuple[list[int], str, str]:
    """The checkpoints in force, the index, and the count in the workspace file."""
    folder = session._environment.paths.session(session_id or session.id)
    listed = [each.number for each in Checkpoints(folder).list()]
    index = read(folder / "checkpoints" / "index.md")
    count = next(line for line in read(folder / "workspace.yaml").splitlines() if line.startswith("summary_count"))
    assert [line[2:5] for line in index.splitlines() if line.startswith("- ")] == [f"{n:03}" for n in listed]
    assert count == f"summary_count: {len(listed)}"
    return listed, index, count


async def test_undo_and_rewind_keep_the_checkpoint_files_in_line_with_the_history(
    home: Path, provider: Provider
) -> None:
    async with talking(home, provider) as session:
        await fill(session, 3)
        await session.compact()
        await fill(session, 3)
        await session.compact()
        assert kept_files(session)[0] == [1, 2]
        await session.edits.undo()
        assert kept_files(session)[0] == [1]
        await talk(session, 1)
        assert (await session.compact()).checkpoint_number == 3, "a number is never given out twice"
        assert kept_files(session)[0] == [1, 3]
        await session.edits.rewind(1)
        assert kept_files(session)[0] == []
        await session.edits.undo()
        assert kept_files(session)[0] == [1, 3], "a rewind that is taken back brings them back"
        await session.edits.clear()
        assert kept_files(session)[0] == [1, 3], "clearing takes back no compaction"
        await session.edits.undo()
        await session.edits.rewind(6)
        assert kept_files(session)[0] == [1]


async def test_a_fork_takes_its_checkpoints_along_and_has_its_own_title(home: Path, provider: Provider) -> None:
    async with talking(home, provider) as session:
        await fill(session, 3)
        await session.compact()
        middle = session.state.seq
        await fill(session, 3)
        await session.compact()
        whole, early = await session.fork(), await session.fork(middle)
        assert kept_files(session, whole)[0] == [1, 2] and kept_files(session, early)[0] == [1]
        environment = session._environment
        other = await Session.resume(environment, early)
        assert other.state.title == f"{session.state.title} (fork)"
        await fill(other, 3)
        own = await other.compact()
        assert own.checkpoint_number == 2 and Path(own.checkpoint_path).parents[1] == environment.paths.session(early)
        assert kept_files(session, early)[0] == [1, 2] and kept_files(session)[0] == [1, 2]
        again = await Session.resume(environment, await other.fork())
        assert again.state.title == f"{session.state.title} (fork 2)"
        await again.close()
        await other.close()
