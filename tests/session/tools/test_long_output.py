"""Output that is too long for a result: its ends are in the result, all of it is kept, readable and searchable."""

import asyncio
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from co_tui.events import ArtifactStored
from co_tui.session.approvals.questions import Unattended
from co_tui.session.environment import Environment
from co_tui.session.forking import fork_stored
from co_tui.session.session import Session
from co_tui.session.tools import kept_output
from co_tui.session.tools.kept_output import SHOWN_BYTES, KeptOutputs, KeptStream
from co_tui.session.turns.current_agent import CURRENT_AGENT
from co_tui.session.turns.turn import Outcome
from tests.support.approving import left
from tests.support.environments import facts
from tests.support.long_run import only_in_a_long_run
from tests.support.waiting import until
from tests.support.working import Call, Working, repository, working_in

LINES = "for i in $(seq 1 9); do seq -f 'line %.0f of the build' 1 60000; done"
"""About 12 MB, over the harness's limit."""
MANY = "seq -f 'line %.0f of the build' 1 20000"
LET = Unattended(yes=True)


class Talk:
    """A session whose model runs commands without asking."""

    def __init__(self, folder: Path, home: Path, **settings: Any) -> None:
        self.model = Working()
        self.environment: Environment = working_in(folder, home, self.model, LET, **settings)
        self.session: Session

    async def start(self) -> "Talk":
        self.session = await Session.start(self.environment, "scripted")
        return self

    async def call(self, tool: str, **arguments: Any) -> str:
        """What the model got for a call, without the time it took."""
        step: Call = (tool, arguments)
        self.model.steps = [step]
        assert await self.session.submit("go") is Outcome.DONE
        return re.sub(r"\n\[took [\d.]+ s\]$", "", self.model.returned[-1])

    @property
    def stored(self) -> list[ArtifactStored]:
        return facts(list(self.session.state.timeline), ArtifactStored)

    @property
    def files(self) -> list[Path]:
        """What is on disk of outputs, complete or not."""
        folder = self.environment.paths.session(self.session.id)
        return [each for each in folder.glob("outputs/*/*") if each.is_file()]

    async def leave(self) -> None:
        await left(self.environment, self.session)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")


@pytest.fixture
async def talk(folder: Path, home: Path) -> Talk:
    return await Talk(folder, home, command_sandbox="off").start()


def reference_in(result: str) -> str:
    found = re.search(r"read_artifact\('(output-[0-9a-f]+(?:-\d)?)'\)", result)
    assert found is not None, result[SHOWN_BYTES // 2 - 200 :][:600]
    return found[1]


async def test_a_result_has_both_ends_and_all_of_it_can_be_read_and_searched(talk: Talk) -> None:
    result = await talk.call(
        "run_command", command=f"echo the start; {LINES}; echo NEEDLE in a haystack; {MANY}; false"
    )
    assert len(result) < SHOWN_BYTES + 500
    assert (
        result.startswith("[stdout]\n[Start and end only; read_artifact(")
        and "]\nthe start\nline 1 of" in result
        and "line 20000 of the build" in result[-60:]
    )
    assert result.endswith("[exit code: 1]")
    reference = reference_in(result)
    [stored] = talk.stored
    [file] = talk.files
    size = file.stat().st_size
    assert size > 10 << 20 and stored.where == reference and stored.outcome == "kept whole"
    assert f"reads all {size:,} bytes" in result and stored.what == f"run_command: {size:,} bytes"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700

    found = await talk.call("read_artifact", reference=reference, pattern="needle")
    assert found == "540002: NEEDLE in a haystack"
    part = await talk.call("read_artifact", reference=reference, line=540_001)
    assert part.startswith("[lines 540001 to ") and "\nline 60000 of the build\nNEEDLE in a haystack\nline 1 of" in part
    pages = -(-size // 4_000)
    last = await talk.call("read_artifact", reference=reference, page=pages)
    assert last.startswith(f"[page {pages} of {pages}]") and last.endswith("line 20000 of the build\n")
    assert "pages 1 to" in await talk.call("read_artifact", reference=reference, page=pages + 1)

    recalled = await talk.call("recall", query="needle haystack")
    assert f"read_artifact('{reference}', line=540002)]" in recalled and "NEEDLE in a haystack" in recalled
    await talk.leave()


@only_in_a_long_run
async def test_equal_output_is_kept_once_and_gives_the_same_result(talk: Talk) -> None:
    first = await talk.call("run_command", command=MANY)
    assert await talk.call("run_command", command=MANY) == first
    assert len(talk.files) == len(talk.stored) == 1
    await talk.leave()


async def test_standard_error_has_its_own_end_and_its_own_artifact(talk: Talk) -> None:
    result = await talk.call("run_command", command=f"{MANY}; {MANY.replace('build', 'trouble')} >&2")
    assert len(result) < SHOWN_BYTES + 800
    shown, _, errors = result.partition("[stderr]\n")
    assert shown.rstrip().endswith("line 20000 of the build") and errors.endswith("line 20000 of the trouble\n")
    assert len(talk.stored) == 2 and reference_in(shown) != reference_in(errors)
    assert "of the trouble" in await talk.call("read_artifact", reference=reference_in(errors), line=7_000)
    short = await talk.call("run_command", command=f"{MANY}; echo only one line >&2")
    assert short.endswith("[stderr]\nonly one line\n") and len(talk.stored) == 2
    await talk.leave()


async def test_what_fits_is_in_the_result_alone(talk: Talk) -> None:
    result = await talk.call("run_command", command=f"head -c {SHOWN_BYTES} /dev/zero | tr '\\0' x")
    assert result == "[stdout]\n" + "x" * SHOWN_BYTES and not talk.files and not talk.stored
    await talk.leave()


async def test_of_more_than_the_limit_the_start_is_kept(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_output, "MOST_KEPT_BYTES", 100_000)
    result = await talk.call("run_command", command=MANY)
    [file] = talk.files
    assert file.stat().st_size == 100_000 and "reads the first 100,000 of 4" in result
    assert talk.stored[0].outcome == "the first 100,000 bytes kept" and "line 20000 of" in result
    await talk.leave()


async def test_a_session_keeps_so_much_and_less_of_commands_that_only_read(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_output, "MOST_SESSION_BYTES", 1_000_000)
    monkeypatch.setattr(kept_output, "MOST_FREE_BYTES", 300_000)
    talk = await Talk(folder, home, command_sandbox="off").start()
    first = await talk.call("run_command", command="seq 100000 135000")
    assert "reads all 245,007 bytes" in first
    second = await talk.call("run_command", command="seq 200000 235000")
    assert "reads the first 54,993 of 245,007 bytes" in second
    third = await talk.call("run_command", command="seq 300000 335000")
    assert "The rest is not kept: commands that only read may keep no more output]" in third and "\n335000" in third
    asked = await talk.call("run_command", command="touch a; seq 100000 190000")
    assert "reads all 630,007 bytes" in asked
    talk.session = await resumed(talk)
    last = await talk.call("run_command", command="touch b; seq 300000 390000")
    assert "reads the first 69,993 of 630,007 bytes" in last
    full = await talk.call("run_command", command="touch c; seq 400000 490000")
    assert "The rest is not kept: this session may keep no more output]" in full
    assert sum(file.stat().st_size for file in talk.files) == 1_000_000
    await talk.leave()


async def resumed(talk: Talk) -> Session:
    await talk.session.close()
    return await Session.resume(talk.environment, talk.session.id)


async def test_on_a_full_disk_both_ends_are_shown_with_the_reason(
    talk: Talk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = KeptStream._begin

    def on_full_disk(stream: KeptStream) -> None:
        begin(stream)
        assert stream._file is not None
        stream._file.close()
        stream._file = Path("/dev/full").open("wb")

    monkeypatch.setattr(KeptStream, "_begin", on_full_disk)
    stream = KeptStream(folder, "")
    for _ in range(20):
        await stream.take(b"x" * 3_000)  # written later than it is taken
    assert not stream.complete() and b"not kept: No space left" in stream.content_within(SHOWN_BYTES)
    result = await talk.call("run_command", command=MANY)
    assert "not kept: No space left on device]\nline 1 of" in result and "line 20000 of" in result[-60:]
    assert not talk.files and not talk.stored
    await talk.leave()


async def test_one_that_times_out_keeps_what_it_printed(talk: Talk) -> None:
    result = await talk.call("run_command", command=f"{MANY}; sleep 600", timeout_seconds=2)
    assert "line 20000 of" in result[-120:] and "timed out" in result and len(talk.stored) == 1
    assert "line 1 of" in await talk.call("read_artifact", reference=reference_in(result))
    await talk.leave()


async def test_what_is_unfinished_is_never_taken_for_whole(talk: Talk, folder: Path) -> None:
    talk.model.steps = [("run_command", {"command": f"{MANY}; touch printed; sleep 600"})]
    turn = asyncio.create_task(talk.session.submit("go"))
    await until((folder / "printed").exists)
    await until(lambda: bool(talk.files))
    [unfinished] = talk.files
    assert unfinished.name.startswith(".") and not talk.stored
    talk.session.interrupt()
    assert await turn is Outcome.INTERRUPTED and not talk.files and not talk.stored

    unfinished.write_text("left by a process that was killed")
    await talk.session.close()
    talk.session = await Session.resume(talk.environment, talk.session.id)
    assert not talk.files
    await talk.leave()


async def test_background_output_can_be_read_while_it_runs_and_after_it_was_stopped(talk: Talk, folder: Path) -> None:
    started = await talk.call("start_command", command=f"{MANY}; touch printed; sleep 600")
    command_id = started.rpartition("ID: ")[2].strip()
    await until((folder / "printed").exists)
    checked = await talk.call("check_command", command_id=command_id)
    assert (
        checked.startswith("[stdout]\n[Start and end only; read_artifact(")
        and "]\nline 1 of" in checked
        and "line 20000 of" in checked[-80:]
    )
    reference = reference_in(checked)
    assert "line 7000 of" in await talk.call("read_artifact", reference=reference, line=7_000)
    assert reference in await talk.call("recall", query='"line 7777 of"') and not talk.stored
    stopped = await talk.call("stop_command", command_id=command_id)
    assert reference_in(stopped) == reference and [each.where for each in talk.stored] == [reference]
    assert "line 7000 of" in await talk.call("read_artifact", reference=reference, line=7_000)
    assert [each.name for each in talk.files] == [f"{reference}.txt"]
    await talk.leave()


async def test_it_is_there_after_a_resume_and_in_a_fork(talk: Talk) -> None:
    reference = reference_in(await talk.call("run_command", command=MANY))
    await talk.session.close()
    for session_id in (talk.session.id, await fork_stored(talk.environment, talk.session.id)):
        talk.session = await Session.resume(talk.environment, session_id)
        assert "line 7000 of" in await talk.call("read_artifact", reference=reference, line=7_000)
        await talk.session.close()


async def test_a_private_session_writes_nothing(folder: Path, home: Path) -> None:
    talk = Talk(folder, home, command_sandbox="off")
    talk.environment.private = True
    await talk.start()
    result = await talk.call("run_command", command=MANY)
    assert "not kept: nothing of a private session is written to disk" in result and "line 20000 of" in result[-60:]
    assert not talk.files and not talk.stored
    await talk.leave()


async def test_an_agent_finds_its_own_outputs_only(tmp_path: Path, talk: Talk) -> None:
    outputs = KeptOutputs(tmp_path / "own", talk.session._recorder, lambda: None, private=False)
    known = {}
    for agent in ("", "reviewer/1", "../odd"):
        token = CURRENT_AGENT.set(agent)
        stdout, stderr = outputs.streams()
        await stdout.take(agent.encode() + b"x" * 2 * SHOWN_BYTES)
        await outputs.shown(stdout, stderr, tool="run_command")
        known[agent] = stdout.reference
        assert [each for each in known.values() if outputs.find(each)] == [known[agent]]
        assert [reference for reference, _ in outputs.all()] == [known[agent]]
        CURRENT_AGENT.reset(token)
    assert [each.agent for each in talk.stored] == [*known]
    assert outputs.find("../main/output-1") is None and len(list((tmp_path / "own").glob("outputs/*/*"))) == 3
    await talk.leave()
