"""A session on another host: its files and commands are there, and nothing changes here."""

import asyncio
import json
import re
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, RetryPromptPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls

from co_tui.agent.model_messages import read_messages
from co_tui.session.approvals.questions import Approval, ApprovalQuestion, Unattended
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.snapshots.file_restores import Consent
from co_tui.session.workplace.host.address import host_address
from co_tui.session.workplace.host.host_workplace import HostWorkplace, connect
from tests.support.environments import ScriptedModel, environment_for
from tests.support.long_run import only_in_a_long_run
from tests.support.sandbox import needs_bwrap
from tests.support.ssh_host import SshHost, files_in, sshd_host, stand_in_host
from tests.support.waiting import until, wait_until

YES, NO = Approval(approved=True, by="user"), Approval(approved=False, by="user", reason="No.")


class Step(NamedTuple):
    """A call of the scripted model."""

    tool: str
    given: dict[str, Any]
    meanwhile: Callable[[], None] = lambda: None
    """Done right before the call is sent."""


class Reader(Unattended):
    """Allows everything but what names `forbidden`."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[ApprovalQuestion] = []

    async def approve(self, question: ApprovalQuestion) -> Approval:
        self.asked.append(question)
        return NO if "forbidden" in str(question) else YES


def scripted(steps: Sequence[Step]) -> ScriptedModel:
    waiting = list(steps)

    async def script(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if not waiting:
            yield "done"
            return
        step = waiting.pop(0)
        await asyncio.to_thread(step.meanwhile)
        call = f"call-{len(steps) - len(waiting)}"
        yield {0: DeltaToolCall(name=step.tool, json_args=json.dumps(step.given), tool_call_id=call)}

    return ScriptedModel(script, window=200_000)


def environment_on(host: SshHost, home: Path, model: ScriptedModel, folder: Path, **settings: Any) -> Environment:
    environment = environment_for(home, model, **settings)
    environment.workplace = connect(host_address("box", str(folder)), host.environ, environment.paths)
    environment.works_in_folder = True
    environment.environ = host.environ
    environment.questions = Reader()
    return environment


async def worked(environment: Environment, prompt: str = "work") -> tuple[Session, list[str]]:
    """The session after one prompt, and the results of its calls in order."""
    session = await Session.start(environment, "scripted")
    await session.submit(prompt)
    return session, results_of(session)


def results_of(session: Session) -> list[str]:
    messages = read_messages([entry.message for entry in session.state.history])
    parts = [part for message in messages if isinstance(message, ModelRequest) for part in message.parts]
    return [str(part.content) for part in parts if isinstance(part, ToolReturnPart | RetryPromptPart)]


@pytest.fixture
def host(tmp_path: Path) -> SshHost:
    return stand_in_host(tmp_path / "box")


@pytest.fixture
def real_host(tmp_path: Path) -> Iterator[SshHost]:
    with sshd_host(tmp_path / "box") as host:
        yield host


async def test_files_and_commands_are_there(tmp_path: Path, real_host: SshHost) -> None:
    host = real_host
    there = host.home / "it's a $folder"
    there.mkdir()
    (there / "a.txt").write_text("one\n")
    steps = [
        Step("read_file", {"path": "a.txt"}),
        Step("write_file", {"path": "new/b.txt", "content": "two\n"}),
        Step("edit_file", {"path": "a.txt", "old_text": "one", "new_text": "three"}),
        Step("run_command", {"command": "cat a.txt new/b.txt && pwd"}),
        Step("search_files", {"pattern": "thr.e"}),
        Step("list_directory", {"path": "."}),
        Step("find_files", {"pattern": "**/*.txt"}),
    ]
    environment = environment_on(host, tmp_path / "own", scripted(steps), there)
    session, results = await worked(environment)
    await close(session, environment)
    assert "one" in results[0]
    assert files_in(there) == {"a.txt": "three\n", "new/b.txt": "two\n"}
    assert "three\ntwo" in results[3] and str(there) in results[3]
    assert "a.txt:1:three" in results[4] and "new/" in results[5] and "new/b.txt" in results[6]
    assert session.state.cwd == f"box:{there}"


async def test_long_output_there_is_kept_here(tmp_path: Path, host: SshHost) -> None:
    there = host.home / "project"
    there.mkdir()
    many = "seq -f 'line %.0f' 1 20000"
    steps = [
        Step("run_command", {"command": f"{many}; {many} >&2; exit 3"}),
        Step("start_command", {"command": f"{many}; touch printed; sleep 600"}),
    ]
    environment = environment_on(host, tmp_path / "own", model := scripted(steps), there)
    session, (ran, started) = await worked(environment)
    shown, _, errors = ran.partition("[stderr]\n")
    for each in (shown, errors):
        assert "line 1\n" in each and "line 20000\n" in each and "bytes in parts" in each
    assert ran.count("pydantic") == 0 and "[exit code: 3]" in ran
    await until((there / "printed").exists)
    command_id = started.rpartition("ID: ")[2].strip()
    model.script = scripted([Step("check_command", {"command_id": command_id})]).script
    await session.submit("How is it?")
    checked = results_of(session)[-1]
    assert "line 1\n" in checked and "line 20000\n" in checked and "[status: running]" in checked
    [reference] = re.findall(r"read_artifact\('(output-\w+-1)'\)", checked)
    model.script = scripted([Step("read_artifact", {"reference": reference, "line": 7_000})]).script
    await session.submit("And there?")
    assert results_of(session)[-1].splitlines()[1] == "line 7000"
    await close(session, environment)


async def test_files_are_brought_back_there(tmp_path: Path, host: SshHost) -> None:
    there = host.home / "project"
    there.mkdir()
    (there / "a.txt").write_text("before\n")
    steps = [
        Step("write_file", {"path": "a.txt", "content": "after\n"}),
        Step("run_command", {"command": "echo made > b.txt"}),
    ]
    environment = environment_on(host, tmp_path / "own", scripted(steps), there)
    session, _ = await worked(environment)
    restores = session.edits.restores
    changes = await restores.changes()
    assert [(each.path, each.what) for each in changes.files] == [("a.txt", "changed"), ("b.txt", "new")]
    host.cut()  # the plan and the restore connect again
    plan = await restores.plan_rewind(1)
    assert plan is not None
    restored = await restores.restore(plan, Consent())
    assert files_in(there) == {"a.txt": "before\n"} and sorted(restored.paths) == ["a.txt", "b.txt"]
    await close(session, environment)


@needs_bwrap
async def test_the_sandbox_holds_there(tmp_path: Path, host: SshHost) -> None:
    there = host.home / "project"
    there.mkdir()
    steps = [
        Step("run_command", {"command": "echo inside > a.txt; echo out > ../b.txt"}),
        Step("run_command", {"command": "mkdir .git && printf '[core]\\n\\tfsmonitor = ./evil\\n' > .git/config"}),
        Step("write_file", {"path": "c.txt", "content": "c\n"}),
    ]
    environment = environment_on(host, tmp_path / "own", scripted(steps), there, mode="auto")
    session, results = await worked(environment)
    assert files_in(there) == {"a.txt": "inside\n", "c.txt": "c\n"}
    assert not (host.home / "b.txt").exists() and not (there / ".git").exists()
    assert "which can make programs run. It was moved to" in results[1]
    assert session_questions(environment) == []
    await close(session, environment)


async def test_the_model_knows_where_it_works(tmp_path: Path, host: SshHost) -> None:
    there = host.home / "project"
    (there / "part").mkdir(parents=True)
    make_repository(there)
    (there / "AGENTS.md").write_text("Above.\n")
    (there / "part/AGENTS.md").write_text("Here.\n")
    seen: list[str] = []

    async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        seen.append(info.instructions or "")
        yield "yes"

    environment = environment_on(host, tmp_path / "own", ScriptedModel(script, window=200_000), there / "part")
    session, _ = await worked(environment)
    assert f"You work in {there}/part on the host box" in seen[0]
    assert "Above." in seen[0] and "Here." in seen[0] and " on box;" in seen[0]
    await session.run_command("pwd; echo $HOME; exit 3")
    ran = str([entry.message for entry in session.state.history][-1])
    assert f"in box:{there}/part. It ended with exit code 3" in ran and f"{host.home}" in ran
    await close(session, environment)


async def test_a_host_that_is_down_fails_the_call_and_not_the_session(tmp_path: Path, host: SshHost) -> None:
    def go_down() -> None:
        (host.folder / "down").touch()
        host.cut()

    there = host.home / "project"
    there.mkdir()
    steps = [
        Step("run_command", {"command": "ls"}, go_down),
        Step("write_file", {"path": "a.txt", "content": "a\n"}),
        Step("write_file", {"path": "a.txt", "content": "a\n"}, (host.folder / "down").unlink),
    ]
    environment = environment_on(host, tmp_path / "own", scripted(steps), there)
    session, results = await worked(environment)
    for result in results[:2]:
        assert "No connection to box: it refuses the connection. The next call connects again." in result
    assert files_in(there) == {"a.txt": "a\n"}
    await close(session, environment)


async def close(session: Session, environment: Environment) -> None:
    await session.close()
    assert list(environment.cwd.iterdir()) == []
    assert isinstance(environment.workplace, HostWorkplace)
    environment.workplace.close()


def many_steps(there: Path, host: SshHost) -> list[Step]:
    """Reads, writes, edits, searches, commands of both kinds, refused ones; the connection is cut in two of them."""

    def cut_once(started: str) -> Callable[[], None]:
        def cut() -> None:
            wait_until((there / started).exists)
            host.cut()

        return lambda: threading.Thread(target=cut, daemon=True).start()

    def waits(started: str) -> Step:
        command = f"echo begun > {started}; sleep 600"
        return Step("run_command", {"command": command}, cut_once(started))

    texts = [Step("write_file", {"path": f"src/{n}.txt", "content": f"text {n}\n"}) for n in range(6)]
    edits = [Step("edit_file", {"path": f"src/{n}.txt", "old_text": "text", "new_text": "line"}) for n in range(4)]
    reads = [Step("read_file", {"path": f"src/{n}.txt"}) for n in range(2)]
    return [
        *texts[:3],
        Step("run_command", {"command": "cat src/0.txt"}),
        waits("first"),
        *texts[3:],
        Step("run_command", {"command": "wc -l src/1.txt"}),
        *reads[:1],
        Step("run_command", {"command": "cat link"}),
        Step("run_command", {"command": "rm -r forbidden"}),
        Step("write_file", {"path": "../outside.txt", "content": "no\n"}),
        *edits[:2],
        Step("search_files", {"pattern": "line"}),
        Step("start_command", {"command": "echo ready; sleep 600", "wait_for": "ready"}),
        Step("run_command", {"command": "echo more >> src/5.txt"}),
        waits("second"),
        *edits[2:],
        Step("list_directory", {"path": "src"}),
        Step("find_files", {"pattern": "*.txt"}),
        *reads[1:],
        Step("edit_files", {"files": [{"path": f"src/{n}.txt", "content": f"both {n}\n"} for n in (0, 1)]}),
        Step("run_command", {"command": "git status --short"}),
        Step("run_command", {"command": "mkdir -p deep/er && cp src/0.txt deep/er/copy.txt"}),
        Step("create_directory", {"path": "empty"}),
        Step("read_file", {"path": "missing.txt"}),
        Step("read_file", {"path": "link"}),
        Step("run_command", {"command": "head -n 1 src/3.txt | wc -c"}),
        Step("run_command", {"command": "exit 7"}),
        Step("edit_file", {"path": "src/2.txt", "old_text": "nowhere", "new_text": "x"}),
        Step("run_command", {"command": "echo forbidden > forbidden/new.txt"}),
    ]


@only_in_a_long_run
async def test_many_steps_with_two_cuts_leave_every_file_as_expected(tmp_path: Path, real_host: SshHost) -> None:
    host = real_host
    there = host.home / "project"
    (there / "forbidden").mkdir(parents=True)
    (there / "forbidden/kept.txt").write_text("kept\n")
    (host.home / "secret").write_text("outside\n")
    (there / "link").symlink_to(host.home / "secret")
    make_repository(there)
    steps = many_steps(there, host)
    environment = environment_on(host, tmp_path / "own", scripted(steps), there)
    session, results = await worked(environment)
    at = {str(step.given.get("command", n)): n for n, step in enumerate(steps)}
    results_by_start = {step.given.get("command", "")[:12]: results[n] for n, step in enumerate(steps)}
    assert len(results) == len(steps)
    for name in ("echo begun > first; sleep 600", "echo begun > second; sleep 600"):
        assert "The connection to box was lost while this ran" in results[at[name]]
        await until(lambda name=name: not is_running(name, there))  # commands end with the connection
    asked = [str(question.arguments) for question in session_questions(environment)]
    assert not any("cat src/0.txt" in each or "wc -l" in each or "git status" in each for each in asked)
    assert any("cat link" in each for each in asked)
    assert "exit code: 7" in results_by_start["exit 7"]
    await until(lambda: any(each.running and "ready" in each.output for each in session.commands.background()))
    assert files_in(there) == expected_files()
    assert (host.home / "outside.txt").exists() is False
    await session.close()
    assert list(environment.cwd.iterdir()) == []
    assert isinstance(environment.workplace, HostWorkplace)
    environment.workplace.close()


def is_running(command: str, folder: Path) -> bool:
    """Whether a process for a command runs in a folder."""
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if command.encode() in (each / "cmdline").read_bytes() and (each / "cwd").readlink() == folder:
                return True
    return False


def make_repository(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)


def session_questions(environment: Environment) -> list[ApprovalQuestion]:
    assert isinstance(environment.questions, Reader)
    return environment.questions.asked


def expected_files() -> dict[str, str]:
    both = {f"src/{n}.txt": f"both {n}\n" for n in (0, 1)}
    edited = {f"src/{n}.txt": f"line {n}\n" for n in range(2, 4)}
    return {
        "deep/er/copy.txt": "both 0\n",
        "first": "begun\n",
        "forbidden/kept.txt": "kept\n",
        "link": "outside\n",
        "second": "begun\n",
        "src/4.txt": "text 4\n",
        "src/5.txt": "text 5\nmore\n",
        **both,
        **edited,
    }
