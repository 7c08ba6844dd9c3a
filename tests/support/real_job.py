"""A job in a real package's source: its folder, its settings, and turns that a scripted provider asks for."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from co_tui.agent.models.open_model import config_for, open_model
from co_tui.paths import locate
from co_tui.session.approvals.questions import Unattended
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from co_tui.settings import load, project_trust_request
from co_tui.store.sqlite.store import SqliteStore
from co_tui.trust import Trust
from tests.support.kept_folders import git
from tests.support.provider import Provider, Reply
from tests.support.wires import Call, Wire

PACKAGE = "pathspec"
TEST = f"""\
import unittest
import {PACKAGE}

class Matching(unittest.TestCase):
    def test_a_pattern(self):
        spec = {PACKAGE}.PathSpec.from_lines("gitignore", ["*.py"])
        self.assertEqual(list(spec.match_files(["a.py", "b.txt"])), ["a.py"])
"""
COMMAND_FILE = "---\ndescription: Mend a part\n---\nMend $1. Changed so far: !`git status --short`"
RUN_TESTS = f"{sys.executable} -B -m unittest tests.test_job"
PUSHING = "Nothing is pushed from here."
HOOK = f"grep -q 'git push' && {{ echo '{PUSHING}' >&2; exit 2; }}; exit 0"
PARSES = f"{sys.executable} -B -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' {{file}}"
Step = Sequence[Call] | str


def unpack(place: Path, *, from_registry: bool) -> Path:
    """The package's source: its source distribution, or a copy of what is installed."""
    if from_registry:
        fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(place)]
        subprocess.run([*fetch, PACKAGE], check=True)
        (archive,) = place.glob("*.tar.gz")
        with tarfile.open(archive) as file:
            file.extractall(place, filter="data")
        (folder,) = (each for each in place.iterdir() if each.is_dir())
    else:
        spec = find_spec(PACKAGE)
        assert spec is not None and spec.origin is not None
        folder = place / PACKAGE
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(spec.origin).parent, folder / PACKAGE, ignore=ignored)
        (folder / "tests").mkdir()
        (folder / "tests/__init__.py").touch()
    for name, text in {
        "tests/test_job.py": TEST,
        "AGENTS.md": "Keep it small.\n",
        f"{PACKAGE}/AGENTS.md": "Public names have a docstring.\n",
        ".claude/commands/mend.md": COMMAND_FILE,
        ".gitignore": "built/\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for arguments in (["init", "-q", "-b", "main"], ["add", "."]):
        git(folder, *arguments)
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b.test", "commit", "-q", "-m", "As it came")
    return folder


def configure(home: Path, folder: Path, mode: str = "ask") -> None:
    """The user's settings, with a mode and a hook that refuses to push; and the folder is trusted."""
    paths = locate({"CO_TUI_HOME": str(home)})
    paths.config_file.parent.mkdir(parents=True)
    paths.config_file.write_text(
        f'context_window = 100000\nmode = "{mode}"\n'
        f'[hooks]\npreToolUse = [{{ matcher = "Bash", command = {json.dumps(HOOK)} }}]\n'
        '[permissions]\nallow = ["WebFetch(domain:127.0.0.1)"]\n'
        f'[after_edit]\n"*.py" = {json.dumps(PARSES)}\n'
    )
    wish = project_trust_request(folder)
    assert wish is not None
    Trust(paths.trust_file).remember(wish, trusted=True)


def environment_of(home: Path, folder: Path, environ: Mapping[str, str]) -> Environment:
    """As the command line makes it."""
    paths = locate({"CO_TUI_HOME": str(home)})
    loaded = load(paths=paths, cwd=folder, environ=environ)
    assert not loaded.problems and not loaded.warnings and loaded.withheld is None, loaded
    config = config_for(loaded.settings, environ, paths)
    return Environment(
        paths=paths,
        settings=loaded.settings,
        store=SqliteStore(paths),
        open_model=lambda name: open_model(name, config),
        workplace=LocalWorkplace(folder),
        environ={"PATH": os.environ["PATH"], **environ},
        works_in_folder=True,
        questions=Unattended(yes=True),
    )


class Script:
    """What the provider answers, turn by turn."""

    def __init__(self, wire: Wire, provider: Provider) -> None:
        self._wire, self._provider = wire, provider
        self._ids = count(1)
        self.calls = self.steps = 0
        """How many were made so far, and in how many replies."""

    def prepare(self, *steps: Step) -> None:
        """The replies of the next turn, and its last words."""
        self._provider.script = [self._reply(step) for step in (*steps, "Done.")]

    def _reply(self, step: Step) -> Reply:
        calls = () if isinstance(step, str) else step
        self.calls += len(calls)
        self.steps += bool(calls)
        made = [(f"call_{next(self._ids)}", tool, json.dumps(arguments)) for tool, arguments in calls]
        return Reply(raw=(self._wire.write(step if isinstance(step, str) else "Working.", made),))

    def summarise_with(self, text: str) -> None:
        self._provider.summary = Reply(raw=(self._wire.write(text, ()),))

    async def turn(self, session: Session, prompt: str, *steps: Step) -> None:
        self.prepare(*steps)
        assert await session.submit(prompt) is Outcome.DONE, session.state.timeline[-1]
        self.check_used()

    def check_used(self) -> None:
        assert self._provider.script == [], "each reply was asked for"


class Edits:
    """Changes of the package's files, each of another one, in the ways a model has."""

    def __init__(self, folder: Path, spared: str) -> None:
        """`spared` is changed only when it is named."""
        self._folder = folder
        files = [file for file in sorted((folder / PACKAGE).rglob("*.py")) if file != folder / spared]
        self._files = [file for file in files if _line_in(file.read_text())]
        self._numbers = count(1)

    def edit(self, file: str = "") -> Call:
        path, line, n = self._next(file)
        return "edit_file", {"path": path, "old_text": line, "new_text": f"{line}\n# change {n}"}

    def several(self) -> Call:
        files: list[dict[str, Any]] = [self._replacement() for _ in range(2)]
        n = next(self._numbers)
        return "edit_files", {"files": [*files, {"path": f"notes/several_{n}.md", "content": f"change {n}\n"}]}

    def write(self) -> Call:
        n = next(self._numbers)
        return "write_file", {"path": f"notes/{n}.md", "content": f"# Change {n}\r\n\n\ttab é\n"}

    def command(self) -> Call:
        n = next(self._numbers)
        lines = (
            f"mkdir -p data built; printf '\\000\\377{n}' > data/{n}.bin; chmod 755 data/{n}.bin; echo {n} > built/{n}"
        )
        return "run_command", {"command": lines}

    def steps(self, number: int) -> Iterator[list[Call]]:
        """So many, of every kind, each with a test of it in the same reply."""
        kinds = (self.edit, self.several, self.write, self.command)
        for n in range(number):
            yield with_test(kinds[n % len(kinds)]())

    def _replacement(self) -> dict[str, Any]:
        path, line, n = self._next()
        return {"path": path, "replacements": [{"old_text": line, "new_text": f"{line}\n# change {n}"}]}

    def _next(self, file: str = "") -> tuple[str, str, int]:
        n = next(self._numbers)
        path = self._folder / file if file else self._files[n % len(self._files)]
        return str(path.relative_to(self._folder)), _line_in(path.read_text()), n


def with_test(change: Call) -> list[Call]:
    """A change, and a command that fails unless the change was made before it."""
    tool, arguments = change
    match tool:
        case "edit_file":
            seen = f"grep -qxF '{arguments['new_text'].splitlines()[-1]}' {arguments['path']}"
        case "edit_files":
            seen = f"test -s {arguments['files'][-1]['path']}"
        case "write_file":
            seen = f"test -s {arguments['path']}"
        case _:
            seen = "test -d data"
    return [change, ("run_command", {"command": f"{seen} && {RUN_TESTS}"})]


def _line_in(text: str) -> str:
    """An import that occurs once; a comment may follow it."""
    lines = (line for line in text.splitlines() if line.startswith(("import ", "from ")))
    whole = (line for line in lines if not line.endswith(("(", "\\", ",")))
    return next((line for line in whole if text.count(line) == 1), "")
