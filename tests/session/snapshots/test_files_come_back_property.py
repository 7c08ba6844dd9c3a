"""Whatever tools, commands and people do between turns: files come back as they were, and theirs are asked about."""

import asyncio
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from co_tui.session.snapshots.file_restores import Consent, Restored, RestoreRefused
from tests.support.kept_folders import PATH, Content, KeptFolder
from tests.support.long_run import drawn

NAMES = st.sampled_from(["a", "b", "d", "d/a", "d/e", "d/e/a", "ü\n", os.fsdecode(b"d/\xff")])
KINDS = st.sampled_from(["write", "write", "crlf", "remove", "link", "folder", "run", "touch"])
EDITS = st.tuples(KINDS, NAMES, st.integers(0, 3))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("tools"), st.lists(EDITS, max_size=3)),
        st.tuples(st.just("tools"), st.lists(EDITS, min_size=1, max_size=3)),
        st.tuples(st.just("hand"), st.lists(EDITS, min_size=1, max_size=2)),
        st.tuples(st.just("restore"), st.integers(0, 20)),
        st.tuples(st.just("undo"), st.none()),
        st.tuples(st.just("start again"), st.none()),
    ),
    min_size=2,
    max_size=9,
)


def edit(folder: Path, kind: str, name: str, number: int) -> None:
    """Change something; whatever is in its way goes."""
    file = folder / name
    for above in [each for each in reversed(file.parents) if each != folder and each.is_relative_to(folder)]:
        if above.is_symlink() or not above.is_dir():
            above.unlink(missing_ok=True)
            above.mkdir()
    if kind == "touch" and file.is_file():
        os.utime(file, ns=(number, number))
        return
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file)
    file.unlink(missing_ok=True)
    if kind in ("write", "crlf", "run"):
        file.write_bytes(f"{number}{chr(13) if kind == 'crlf' else ''}\n".encode())
        file.chmod(0o755 if kind == "run" else 0o644)
    elif kind == "link":
        file.symlink_to(f"/tmp/{number}" if number else "a")
    elif kind == "folder":
        file.mkdir()


class Story:
    """Does the steps, and remembers what the folder was before each turn, or rather before its first change.

    What people do between a turn that changes nothing and the next one is theirs.
    """

    def __init__(self, kept: KeptFolder) -> None:
        self.kept = kept
        self.before: dict[int, dict[str, Content]] = {}
        self.unchanged: list[int] = []
        """Turns since which the session has changed nothing."""
        self.restored_from: list[dict[str, Content]] = []

    async def do(self, what: str, detail: object) -> None:
        await getattr(self, what.replace(" ", "_"))(detail)

    async def tools(self, edits: list[tuple[str, str, int]]) -> None:
        self.unchanged.append(await self.kept.prompt())
        for each in edits:
            self.record()
            await self.kept.tool(lambda folder, each=each: edit(folder, *each))

    def record(self) -> None:
        """The session is about to change something."""
        self.before |= dict.fromkeys(self.unchanged, self.kept.content)
        self.unchanged.clear()

    async def hand(self, edits: list[tuple[str, str, int]]) -> None:
        for each in edits:
            edit(self.kept.folder, *each)

    async def start_again(self, _: object) -> None:
        self.kept.open()

    async def restore(self, number: int) -> None:
        if not self.before:
            return
        turn = sorted(self.before)[number % len(self.before)]
        now = self.kept.content
        self.record()
        try:
            restored = await self.kept.rewind(turn)
        except RestoreRefused as refused:
            assert self.kept.content == now, "nothing is changed before it is asked about"
            restored = await self._keep_and_go_back(turn, now, refused.by_others)
        if restored is not None:
            assert not restored.failed
            self.restored_from.append(now)
            assert self.kept.content == self.before[turn]

    async def _keep_and_go_back(self, turn: int, now: dict[str, Content], named: tuple[str, ...]) -> Restored | None:
        await self.kept.rewind(turn, Consent(keep=True))
        kept = self.kept.content
        for path in named:
            assert kept.get(path) == now.get(path), "what is kept stays as it is"
        await self.kept.undo()
        assert self.kept.content == now
        return await self.kept.rewind(turn, Consent(overwrite=named))

    async def undo(self, _: object) -> None:
        if self.kept.restores.undoable is None:
            return
        self.record()
        line = self.kept.restores.undoable
        plan = await self.kept.restores.plan_undo(line)
        await self.kept.restores.restore(plan, Consent(overwrite=plan.by_others))
        assert self.kept.content == self.restored_from.pop()


@settings(max_examples=drawn(25), deadline=None)
@given(STEPS, st.booleans())
def test_restored_at_random_files_equal_the_record(steps: list[tuple[str, object]], uses_git: bool) -> None:
    async def tell(place: Path) -> None:
        story = Story(KeptFolder(place, path=PATH if uses_git else "/nonexistent"))
        for what, detail in steps:
            await story.do(what, detail)

    with tempfile.TemporaryDirectory() as place:
        asyncio.run(tell(Path(place)))


@settings(max_examples=drawn(15), deadline=None)
@given(st.lists(EDITS, min_size=1, max_size=4), st.lists(EDITS, min_size=1, max_size=3))
def test_a_file_that_a_person_changed_is_named_unless_it_is_as_it_was(
    by_tools: list[tuple[str, str, int]], by_hand: list[tuple[str, str, int]]
) -> None:
    async def tell(place: Path) -> None:
        kept = KeptFolder(place, path="/nonexistent")
        before = kept.content
        turn = await kept.turn(*(lambda folder, each=each: edit(folder, *each) for each in by_tools))
        left = kept.content
        for each in by_hand:
            edit(kept.folder, *each)
        now = kept.content
        plan = await kept.restores.plan_rewind(turn)
        named = plan.by_others if plan is not None else ()
        paths = {
            path for path in {*left, *now} if left.get(path) != now.get(path) and now.get(path) != before.get(path)
        }
        files = {path for path in paths if "folder" not in (left.get(path, "f")[0], now.get(path, "f")[0])}
        assert files <= set(named)

    with tempfile.TemporaryDirectory() as place:
        asyncio.run(tell(Path(place)))
