"""A job in a real package's source, with everything that an agent works with all day, and the way back.

Only in a long run: `CO_TUI_LONG_RUN=40 uv run pytest tests/e2e/test_real_job.py` makes 40 steps on each of the three
wires, in a source distribution from the registry; `CO_TUI_LONG_RUN=1` makes 15 on one wire, in a copy of what is
installed.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from co_tui.events import BackgroundNews, CompactionComplete, DelegationEnd, FilesRestored, HookRun, Message
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.snapshots.file_restores import Consent
from tests.support.command import CliCommand
from tests.support.environments import facts
from tests.support.kept_folders import content_of
from tests.support.long_run import LONG_RUN, only_in_a_long_run
from tests.support.provider import Provider
from tests.support.real_job import (
    PACKAGE,
    PUSHING,
    RUN_TESTS,
    Edits,
    Script,
    configure,
    environment_of,
    unpack,
    with_test,
)
from tests.support.stores import stored_events
from tests.support.waiting import next_fact
from tests.support.web_pages import WebPages, page, serving
from tests.support.wires import WIRES, Wire

FEWEST = 15
STEPS = max(LONG_RUN, FEWEST)
BACK_TO = 10 if STEPS > FEWEST else 6
"""The files are brought back to how they were after this step."""
UTIL = f"{PACKAGE}/util.py"
SUMMARY = (
    "Title: Work on the package\n## Decisions and outcomes\n"
    f"- {UTIL} was edited, tests.test_job was run with unittest, git push was refused.\n"
)
TEST_RUN = ("run_command", {"command": RUN_TESTS})
SERVE = ("start_command", {"command": "exec python3 -u -m http.server 0 --bind 127.0.0.1", "wait_for": "Serving HTTP"})
WAIT = ("start_command", {"command": "echo Serving HTTP; exec sleep 600", "wait_for": "Serving HTTP"})
"""In the sandbox of mode `auto` no server can listen."""
PUSH = ("run_command", {"command": "git push origin main"})
REMOVE = ("run_command", {"command": f"rm tests/test_job.py && mv {UTIL} moved.py && ln -s moved.py link"})
PUT_BACK = ("run_command", {"command": f"mv moved.py {UTIL} && git show HEAD:tests/test_job.py > tests/test_job.py"})
DELEGATED = [
    ("delegate_task", {"agent_name": "self", "task": f"Write about {part}."}) for part in ("matching", "patterns")
]


@pytest.fixture
async def site() -> AsyncIterator[WebPages]:
    async with serving({"/doc": page("<h1>Patterns</h1><p>A double star matches any folder.</p>")}) as pages:
        yield pages


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return unpack(tmp_path, from_registry=STEPS > FEWEST)


class Job:
    """One session in the folder, in this process and in others."""

    def __init__(self, home: Path, folder: Path, wire: Wire, provider: Provider, co_tui: CliCommand, mode: str) -> None:
        self.home, self.folder, self.wire, self.provider, self.co_tui = home, folder, wire, provider, co_tui
        self.mode = mode
        self.script, self.edits = Script(wire, provider), Edits(folder, spared=UTIL)
        self.session: Session
        self.environment: Environment

    async def open(self) -> None:
        environ = self.wire.environ(self.provider)
        self.environment = environment_of(self.home, self.folder, environ)
        if hasattr(self, "session"):
            self.session = await Session.resume(self.environment, self.session.id)
        else:
            self.session = await Session.start(self.environment, self.wire.model)

    async def close(self) -> None:
        await self.session.close()
        stored = await self.environment.stored_state(self.session.id)
        self.environment.store.close()
        assert stored == self.session.state, "replayed exactly"

    async def turn(self, prompt: str, *steps: Any) -> None:
        await self.script.turn(self.session, prompt, *steps)

    async def turn_elsewhere(self, prompt: str, *steps: Any) -> None:
        """The same in a process of its own."""
        await self.close()
        self.script.prepare(*steps)
        ran = await asyncio.to_thread(self.co_tui, "run", "--resume", self.session.id, "--yes", "-p", prompt)
        assert ran.code == 0 and ran.out.endswith("Done.\n"), ran
        self.script.check_used()
        await self.open()

    @property
    def sent(self) -> str:
        """The last request."""
        return str(self.provider.requests[-1])

    @property
    def place(self) -> tuple[Any, Any]:
        return content_of(self.folder), list(self.session.state.history)


@pytest.fixture
async def job(
    home: Path,
    folder: Path,
    provider: Provider,
    co_tui: CliCommand,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Job]:
    name, mode = request.param
    wire = WIRES[name]
    for name, value in wire.environ(provider).items():
        monkeypatch.setenv(name, value)
        co_tui.environ[name] = value
    provider.window = 100_000
    configure(home, folder, mode)
    made = Job(home, folder, wire, provider, co_tui, mode)
    made.script.summarise_with(SUMMARY)
    await made.open()
    yield made
    await made.close()


async def begin(job: Job, site: WebPages) -> None:
    """Read, test, edit, serve in the background, look a page up, and be refused by the hook."""
    listener = job.session.events()
    read = [("read_file", {"path": UTIL})]
    await job.turn(
        "Look at it.", read, [TEST_RUN], with_test(job.edits.edit(UTIL)), [WAIT if job.mode == "auto" else SERVE]
    )
    assert "[exit code: 0]" in job.sent or "OK" in job.sent, job.sent
    assert "Public names have a docstring." in job.sent, "the instructions of the subfolder"
    await next_fact(listener, BackgroundNews)
    await job.turn("Go on.", [("web_fetch", {"url": site.url("/doc")})], [PUSH], *job.edits.steps(BACK_TO - 6))
    assert "Printed “Serving HTTP" in job.sent and "A double star matches any folder." in job.sent
    assert PUSHING in job.sent
    assert job.script.steps == BACK_TO


async def change_more(job: Job) -> None:
    """A slash command, delegates that write, a compaction, and a turn in another process."""
    more = STEPS - FEWEST - (BACK_TO - 6)
    await job.turn("/mend matching", [job.edits.several()], [REMOVE], *job.edits.steps(more // 2))
    assert "Mend matching. Changed so far: " in job.sent and f" M {UTIL}" in job.sent
    written = [[job.edits.write()], [job.edits.write()]]
    await job.turn("Let others write.", DELEGATED, *written, "Report one.", "Report two.")
    assert "Report one." in job.sent and "Report two." in job.sent
    done = await job.session.compact()
    assert done.success and "git push was refused" in str(job.session.state.history)
    await job.turn_elsewhere("Put it back.", [PUT_BACK], with_test(job.edits.edit()), [TEST_RUN])
    await job.turn("Finish.", *job.edits.steps(more - more // 2), [job.edits.command()])
    await job.session.run_command("echo by the user > notes/mine.md")
    assert job.script.steps >= STEPS


JOBS = [*((wire, "ask") for wire in WIRES), ("anthropic", "edits"), ("anthropic", "auto")]


@only_in_a_long_run
@pytest.mark.parametrize("job", JOBS if STEPS > FEWEST else [("anthropic", "ask")], indirect=True, ids="-".join)
async def test_a_job_in_a_real_package_and_back_to_where_it_was(job: Job, site: WebPages) -> None:
    repository = content_of(job.folder / ".git")
    await begin(job, site)
    then, turn = job.place, job.session.state.turn + 1
    await change_more(job)
    later = job.place
    ignored = {path: content for path, content in later[0].items() if path.split("/")[0] == "built"}

    async def rewind() -> None:
        rewound = await job.session.edits.rewind_files(turn, Consent(), conversation=True)
        assert rewound.prompt == "/mend matching" and not rewound.restored.failed
        assert job.place == ({**then[0], **ignored}, then[1])

    await rewind()
    restore = job.session.edits.undoable_restore()
    assert restore is not None
    await job.session.edits.undo_restore(restore, Consent())
    assert job.place == later
    await rewind()

    await job.turn("On from there.", [job.edits.edit(UTIL)], [TEST_RUN], [job.edits.several()])
    assert "Mend matching" not in job.sent and "Report one." not in job.sent
    assert (job.folder / UTIL).read_text() != then[0][UTIL][2].decode()
    assert content_of(job.folder / ".git") == repository
    check_log(job)


def check_log(job: Job) -> None:
    """Every call did what it says, but the one that was refused; no request has a call without its result."""
    asked = [*job.provider.requests, *job.provider.summary_requests]
    assert [broken for each in asked for broken in job.wire.broken_pairs(each)] == []
    log = stored_events(job.home, job.session.id)
    parts = [part for message in facts(log, Message) for part in message.message["parts"]]
    returned = Counter(part["outcome"] for part in parts if part["part_kind"] == "tool-return")
    assert returned == {"success": job.script.calls - 1, "denied": 1}
    assert [run.outcome for run in facts(log, HookRun) if run.decision == "block"] == [f"Refused: {PUSHING}"]
    assert len(facts(log, DelegationEnd)) == 2 and len(facts(log, FilesRestored)) == 3
    assert [done.success for done in facts(log, CompactionComplete)] == [True]
