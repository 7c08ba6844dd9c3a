"""Whatever runs in the folder: the journal and the state of the work state nothing that is not so (C22)."""

import asyncio
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from co_tui.context.journal.journal import Journal, JournalTask, rewritten
from co_tui.context.journal.work_state import (
    BEFORE_CHANGE,
    CHANGED_IN,
    CHANGED_LATER,
    FAILING,
    FILES_CHANGED,
    FILES_READ,
    LAST_GOOD,
    NEW_FILES,
)
from co_tui.session.approvals.questions import Unattended
from co_tui.session.session import Session
from co_tui.session.snapshots.file_restores import Consent
from tests.support.long_run import LONG_RUN, drawn
from tests.support.waiting import until
from tests.support.working import Working, working_in

CHECK: Final = "#!/bin/sh\nif grep -q BUG app.py; then echo 'FAILED app.py'; exit 3; fi\necho 'all checks passed'\n"
PATCH: Final = "--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n-foo = 1\n+foo = 2\n BUG = 0\n"
FILES: Final = {
    "app.py": "foo = 1\nBUG = 0\n", "config.py": "level = 1\n", "data.txt": "one\ntwo\n", "notes.md": "# Notes\n",
    "sub/x.txt": "x\n", "p.patch": PATCH, "check.sh": CHECK,
}  # fmt: skip
CHECKS: Final = ["./check.sh", "sh check.sh", "grep -q foo app.py", "grep -q nothere app.py", "test -f new.txt", "true"]
EFFECTS: Final = [
    "sed -i s/foo/bar/ app.py", "sed -i s/nothere/x/ app.py", "sed -n 1p app.py", "sed -i s/BUG/fine/ app.py",
    "perl -ne print data.txt", "perl -pi -e s/one/1/ data.txt", "touch -d 2020-01-01 data.txt", "touch new.txt",
    "printf 'more\\n' >> data.txt", "printf 'one\\ntwo\\n' > data.txt", "printf 'BUG = 1\\n' >> app.py",
    "cp app.py copy.py", "cp copy.py app.py", "mv data.txt moved.txt", "mv moved.txt data.txt", "rm -f notes.md",
    "rm nothere", "rm -f new.txt copy.py", "git checkout app.py", "git checkout -- .", "git restore -S app.py",
    "git restore app.py", "git stash push app.py", "git stash", "git stash pop", "git rm -n app.py",
    "git apply p.patch", "git apply --check p.patch", "git commit -qam next", "git reset -q --hard", "git add app.py",
    "echo 'Operation cancelled.'", "echo '[exit code: 2]'", "echo 'FAILED: 3 errors'", "mkdir -p new", "cat app.py",
    "tee out.txt < app.py", "head -1 config.py", "ls", "false", "exit 4", "./nothere.sh", "rmdir new", "rm -rf sub",
]  # fmt: skip
SHAPES: Final = [
    "{0}", "{0}", "{0}", "{0} && {1}", "{0} || {1}", "{0}; {1}", "{0} | cat", "{0} > out 2>&1; echo finished",
    "{0} || true", "if {0}; then {1}; fi", "! {0}", "({0})", "{0} > /dev/null 2>&1 & wait", "cd sub && {0}", "{0} 2>&1",
    "{0} > out", "{0}\n{1}", "for f in 1 2; do {0}; done", "{0} && {1} && {2}", "$({0})", "{0} 2>/dev/null | tail -1",
]  # fmt: skip
LINES: Final = st.builds(
    lambda shape, first, *others: shape.format(first, *others),
    st.sampled_from(SHAPES),
    st.sampled_from([*CHECKS, *CHECKS, *EFFECTS]),
    st.sampled_from([*CHECKS, *EFFECTS]),
    st.sampled_from([*CHECKS, *EFFECTS]),
)
TOOLS: Final = st.sampled_from([
    ("edit_file", {"path": "app.py", "old_text": "foo = 1", "new_text": "foo = 7\nnewer = 8"}),
    ("edit_file", {"path": "./app.py", "old_text": "foo = 7\nnewer = 8", "new_text": "foo = 1"}),
    ("edit_file", {"path": "app.py", "old_text": "not there", "new_text": "x"}),
    ("write_file", {"path": "made.py", "content": "made = 1\nmade_too = 2\n"}),
    ("write_file", {"path": "config.py", "content": "level = 2\nlevel_too = 3\n"}),
    ("read_file", {"path": "app.py"}), ("read_file", {"path": "nowhere.py"}),
])  # fmt: skip
BEHIND: Final = st.sampled_from([
    "sed -i s/foo/bar/ app.py", "printf 'BUG = 1\\n' >> app.py", "git checkout -q app.py config.py", "true",
    "printf 'level = 9\\n' > config.py",
    "rm -f made.py", "printf 'other = 1\\n' > made.py", "printf 'two\\n' > data.txt",
])  # fmt: skip
"""What commands do in the background."""
STEPS: Final = st.one_of(
    LINES.map(lambda line: ("run", line)),
    LINES.map(lambda line: ("run", line)),
    LINES.map(lambda line: ("run", line)),
    LINES.map(lambda line: ("user", line)),
    TOOLS.map(lambda call: ("tool", call)),
    st.tuples(st.just("rewind"), st.tuples(st.integers(1, 3), st.booleans())),
    st.just(("undo", None)),
    LINES.map(lambda line: ("hidden", line)),
    BEHIND.map(lambda line: ("start", line)),
    st.just(("let it act", None)),
    st.just(("let it end", None)),
)
LINES_A_SESSION: Final = 10


class Run(NamedTuple):
    """A line that ran, and its exit code."""

    line: str
    code: int


class World:
    """A session's folder, and a twin of it in which each line runs first."""

    def __init__(self, place: Path) -> None:
        self.folder, self.twin = place / "folder", place / "twin"
        self.folder.mkdir()
        for name, text in FILES.items():
            (self.folder / name).parent.mkdir(exist_ok=True)
            (self.folder / name).write_text(text)
        (self.folder / "check.sh").chmod(0o755)
        for words in (["init", "-q", "-b", "main"], ["config", "user.email", "a@b"], ["config", "user.name", "a"],
                      ["add", "."], ["commit", "-qm", "first"]):  # fmt: skip
            subprocess.run(["git", *words], cwd=self.folder, check=True)
        self.first = self.content()
        self.runs: list[Run] = []
        self.changed: list[float] = []
        """How many runs there were when a file changed; half a run more if none of them changed it."""
        self.written = [self.first]
        self.read: set[str] = set()
        self.own: set[str] = set()
        """The files that the session changed."""

    def content(self) -> dict[str, tuple[int, bytes]]:
        files = (each for each in self.folder.rglob("*") if ".git" not in each.parts and each.is_file())
        return {str(each.relative_to(self.folder)): (each.stat().st_mode, each.read_bytes()) for each in files}

    def code_of(self, line: str) -> int:
        """The exit code of a line, from the twin."""
        shutil.rmtree(self.twin, ignore_errors=True)
        shutil.copytree(self.folder, self.twin, symlinks=True)
        return subprocess.run(["/bin/sh", "-c", line], cwd=self.twin, capture_output=True).returncode

    def ran(self, line: str, code: int) -> None:
        self.runs.append(Run(line, code))
        self.note(0)

    def note(self, after: float = 0.5) -> None:
        """Something happened: note whether files changed."""
        now = self.content()
        self.own |= {path for path, _ in now.items() ^ self.written[-1].items()}
        if now != self.written[-1]:
            self.written.append(now)
            self.changed.append(len(self.runs) + after)

    def changed_behind(self) -> None:
        """A background command changed files. Those of others are what they are before the session changes them."""
        own, now, before = set(self.own), self.content(), self.written[-1]
        self.note()
        self.own = own
        for path in {path for path, _ in now.items() ^ before.items()} - own:
            if path in now:
                self.first[path] = now[path]
            else:
                self.first.pop(path, None)

    def last(self, shown: str) -> Run:
        """The last run of a line that is shown in one line."""
        return next(each for each in reversed(self.runs) if is_shown_as(each.line, shown))

    def breaches(self, state: str, journal: str) -> Iterator[str]:
        now, head = self.content(), ""
        for line in state.splitlines():
            if line.startswith((FILES_CHANGED, NEW_FILES)):
                is_new = line.startswith(NEW_FILES)
                for each in line.partition(": ")[2].partition(" and ")[0].split(", "):
                    yield from self._file(*re.fullmatch(r"(.*?)(?: \((.*)\))?", each).groups(), is_new, now)  # type: ignore[union-attr]
            elif line.startswith(FILES_READ):
                for each in line.removeprefix(FILES_READ).split("; "):
                    if each.partition(":")[0] not in self.read:
                        yield f"never read: {each}"
            elif line.startswith((FAILING, LAST_GOOD)):
                is_before, shown = line.endswith(BEFORE_CHANGE), line.removesuffix(BEFORE_CHANGE).partition(": ")[2]
                if not shown.startswith("$ "):
                    continue
                command, _, outcome = shown.partition(" → ")
                run = self.last(command.removeprefix("$ "))
                if run.code != (int(outcome.removeprefix("failed (exit ")[:-1]) if outcome else 0):
                    yield f"it ended with {run.code}: {line}"
                if not outcome and (hidden := re.search(r"[|;]|&(?!&)|>|\n|!", run.line.replace("&&", ""))):
                    yield f"hidden by {hidden[0]!r}: {line}"
                changed = any(count > len(self.runs) - self.runs[::-1].index(run) for count in self.changed)
                if is_before and not changed:
                    yield f"nothing changed since: {line}"
            elif line.startswith(CHANGED_IN):
                head = line
            elif head and not head.endswith(f"{CHANGED_LATER}:") and line.startswith("    +"):
                path, added = head.removeprefix(CHANGED_IN).partition(" (")[0].removesuffix(":"), line[5:].strip()
                if added.encode() not in now.get(path, (0, b""))[1]:
                    yield f"not in {path}: {line}"
        for line in journal.splitlines():
            command, _, outcome = line.partition(" → ")
            if line.startswith("- $ ") and outcome.startswith("failed (exit "):
                code = int(outcome.removeprefix("failed (exit ")[:-1])
                words = re.sub(r" \(again.*\)$", "", command).removeprefix("- $ ")
                if not any(is_shown_as(each.line, words) and each.code == code for each in self.runs):
                    yield f"never ended so: {line}"
            if outcome == "undone later" and "app.py" in command and now.get("app.py") != self.first["app.py"]:
                yield f"not undone: {line}"

    def _file(self, path: str, note: str | None, is_new: bool, now: Any) -> Iterator[str]:
        was, is_ = self.first.get(path), now.get(path)
        truth = {
            None: (was is None) == is_new and is_ is not None and (is_new or was != is_),
            "removed": was is not None and is_ is None,
            "as before": was == is_,
        }
        if not truth.get(note, True):
            yield f"{path} ({note}, new: {is_new}): was {was}, is {is_}"


def is_shown_as(line: str, shown: str) -> bool:
    first, *others = line.splitlines()
    return shown == (f"{first} …" if others else first)


def _waits(flag: Path) -> str:
    return f"until [ -e {flag} ]; do sleep 0.02; done"


async def breaches(steps: Sequence[tuple[str, Any]], place: Path) -> list[str]:
    """What is stated and not so, after any of the steps."""
    world = World(place)
    model = Working()
    environment = working_in(world.folder, place / "home", model, Unattended(yes=True), command_sandbox="off")
    session = await Session.start(environment, "scripted")
    found: list[str] = []
    acts, acted, ends = place / "acts", place / "acted", place / "ends"
    for number, (kind, what) in enumerate(steps):
        if kind in ("run", "user", "hidden"):
            line = f"{what} || true" if kind == "hidden" else what
            code = world.code_of(line)
            if kind == "user":
                await session.run_command(line)
            else:
                model.steps[:] = [("run_command", {"command": line})]
                await session.submit(f"step {number}")
            world.ran(line, code)
        elif kind == "tool":
            if what[0] == "read_file" and (world.folder / what[1]["path"]).exists():
                world.read.add(what[1]["path"])
            model.steps[:] = [what]
            await session.submit(f"step {number}")
        elif kind == "start" and not session.commands.in_background().runs:
            for each in (acts, acted, ends):
                each.unlink(missing_ok=True)
            line = f"{_waits(acts)}; {what}; touch {acted}; {_waits(ends)}; exit 3"
            model.steps[:] = [("start_command", {"command": line})]
            await session.submit(f"step {number}")
        elif kind in ("let it act", "let it end") and session.commands.in_background().runs:
            acts.touch()
            await until(acted.exists)
            world.changed_behind()
            if kind == "let it end":
                ends.touch()
                await until(lambda: not session.commands.in_background().runs)
        elif kind == "rewind" and (turn := session.state.turn + 1 - what[0]) > 0:
            await session.edits.rewind_files(turn, Consent(overwrite=list(world.content())), conversation=what[1])
        elif kind == "undo" and (restore := session.edits.undoable_restore()) is not None:
            await session.edits.undo_restore(restore, Consent(overwrite=list(world.content())))
        world.note()
        history = session._runtime.history
        sources = await history.sources_without([entry.ref for entry in history.entries])
        state = sources.work.state_text(20_000, sources.gone, sources.files)
        task = JournalTask(sources, Journal(), len(sources.gone), 20_000, 20_000)
        found += world.breaches(state, rewritten(task, 20_000, "").text)
        if found:
            break
    await session.close()
    environment.store.close()
    return found


EDITED: Final = ("tool", ("edit_file", {"path": "app.py", "old_text": "foo = 1", "new_text": "foo = 7\nnewer = 8"}))
MADE: Final = ("tool", ("write_file", {"path": "made.py", "content": "made = 1\nmade_too = 2\n"}))


@settings(max_examples=drawn(4), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEPS, min_size=LINES_A_SESSION if LONG_RUN else 7, max_size=LINES_A_SESSION))
def test_drawn_lines_rewinds_and_edits_lead_to_no_false_statement(steps: list[tuple[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        assert asyncio.run(breaches(steps, Path(place))) == []


def test_what_a_background_command_changes_leads_to_no_false_statement(tmp_path: Path) -> None:
    steps = [EDITED, ("start", "git checkout -q app.py; rm -f made.py"), MADE, ("let it act", None), ("run", "true"),
             ("let it end", None), MADE]  # fmt: skip
    assert asyncio.run(breaches(steps, tmp_path)) == []
