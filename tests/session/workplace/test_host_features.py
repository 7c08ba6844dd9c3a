"""What works in a folder here works on another host: checks, instructions, skills, attached files, stopped commands."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCalls

from co_tui.session.attachments import AttachmentRefused
from co_tui.session.hooks.session_hooks import PromptRefused
from co_tui.session.session import Session
from co_tui.session.workplace.branch_changes import ReviewRefused
from co_tui.settings.permission_rules import Rule, RuleInForce
from tests.session.workplace.test_working_there import Step, close, environment_on, results_of, scripted, worked
from tests.support.environments import ScriptedModel
from tests.support.long_run import only_in_a_long_run
from tests.support.ssh_host import SshHost, stand_in_host
from tests.support.waiting import until


@pytest.fixture
def host(tmp_path: Path) -> SshHost:
    return stand_in_host(tmp_path / "box")


def made(folder: Path, **files: str) -> Path:
    """A folder with these files; `__` is a slash and `_` a dot of their names."""
    for name, text in files.items():
        file = folder / name.replace("__", "/").replace("_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def git(folder: Path, *arguments: str) -> None:
    own = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", str(folder), *own, *arguments], check=True)


async def test_checks_after_edits_run_there(tmp_path: Path, host: SshHost) -> None:
    there = made(host.home / "project", only_txt="printed by the host\n")
    steps = [
        Step("write_file", {"path": "src/a.py", "content": "a = 1\n"}),
        Step("edit_file", {"path": "src/a.py", "old_text": "1", "new_text": "2"}),
        Step("write_file", {"path": "src/a.txt", "content": "no check\n"}),
    ]
    checks = {"*.py": ("cat only.txt {file}",)}
    environment = environment_on(host, tmp_path / "own", scripted(steps), there, after_edit=checks)
    session, (written, edited, other) = await worked(environment)
    assert "printed by the host\na = 1" in written and "cat only.txt src/a.py" in written
    assert "a = 2" not in edited and "printed by the host" not in other, "only new lines, only for matching files"
    await close(session, environment)


async def test_instructions_of_folders_below_come_with_the_first_result(tmp_path: Path, host: SshHost) -> None:
    there = made(
        host.home / "project",
        AGENTS_md="At the top.\n",
        part__AGENTS_md="In the part. @style.md @../../outside.md\n",
        part__style_md="Imported there.\n",
        part__a_py="a = 1\n",
        secret__AGENTS_md="Hidden by a rule.\n",
        secret__b_py="b = 1\n",
    )
    (host.home / "outside.md").write_text("Outside.\n")
    steps = [Step("read_file", {"path": path}) for path in ("part/a.py", "part/a.py", "secret/b.py")]
    denied = (RuleInForce("deny", Rule("Read", "./secret/*.md"), "settings"),)
    environment = environment_on(host, tmp_path / "own", scripted(steps), there, permissions=denied)
    session, (first, again, hidden) = await worked(environment)
    assert "In the part." in first and "Imported there." in first and "At the top." not in first
    assert "Outside." not in first and "@../../outside.md is not imported: it is outside of the project" in first
    assert "In the part." not in again and "b = 1" in hidden and "Hidden by a rule." not in hidden
    await close(session, environment)


async def test_the_skills_of_a_project_there_are_offered_with_the_users_own(tmp_path: Path, host: SshHost) -> None:
    skill = "---\nname: {0}\ndescription: Does {0}.\n---\nHow to do {0}.\n"
    there = host.home / "project"
    seen: list[str] = []

    async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        seen.append(info.instructions or "")
        yield "yes"

    made(there / ".agents/skills/theirs", SKILL_md=skill.format("theirs"))
    environment = environment_on(host, tmp_path / "own", ScriptedModel(script, window=200_000), there)
    made(environment.paths.skills / "mine", SKILL_md=skill.format("mine"))
    session, _ = await worked(environment)
    assert "Does theirs." in seen[0] and "Does mine." in seen[0]
    await close(session, environment)


async def test_a_prompt_names_files_there(tmp_path: Path, host: SshHost) -> None:
    there = made(host.home / "project", src__a_py="a = 1\n", Makefile="all:\n")
    (there / "src/out.py").symlink_to(made(host.home, secret_py="secret") / "secret.py")
    here = made(tmp_path / "here", b_py="b = 2\n") / "b.py"
    seen: list[str] = []

    async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        seen.append(str(messages[-1]))
        yield "yes"

    environment = environment_on(host, tmp_path / "own", ScriptedModel(script, window=200_000), there)
    workplace = environment.workplace
    assert sorted(workplace.list_files()) == ["Makefile", "src/a.py"]
    session = await Session.start(environment, "scripted")
    prompt = f"Compare @src/a.py, @Makefile, @{here}; not @someone or `@code.py`."
    await session.submit(prompt, files=workplace.named_files(prompt).files)
    assert all(text in seen[0] for text in ("a = 1", "all:", "b = 2")) and seen[0].count("## Attached file") == 3
    for name, why in (("gone.py", "no such file"), ("src/out.py", "outside of the folder"), ("src/", "a folder")):
        with pytest.raises(AttachmentRefused, match=rf"Cannot read {name} on box: .*{why}"):
            await session.submit(f"@{name}", files=workplace.named_files(f"@{name}").files)
    host.cut()
    assert sorted(workplace.list_files()) == ["Makefile", "src/a.py"], "the connection is made again"
    with host.down():
        assert sorted(workplace.list_files()) == ["Makefile", "src/a.py"], "as they were"
    assert len(seen) == 1
    await close(session, environment)


@only_in_a_long_run
async def test_a_command_of_a_file_is_sent_without_what_only_looks_like_a_file(tmp_path: Path, host: SshHost) -> None:
    there = made(host.home / "project", a_py="a = 1\n")
    environment = environment_on(host, tmp_path / "own", scripted([]), there)
    made(environment.paths.config, commands__go_md="Use @pytest.fixture and @a.py.\n")
    session = await Session.start(environment, "scripted")
    await session.submit("/go")
    sent = str(session.state.history[0].message)
    assert "Use @pytest.fixture" in sent and "a = 1" in sent
    with pytest.raises(PromptRefused, match=r"gone\.py on box: no such file\. \(Put it in `backquotes`"):
        await session.submit("/go @gone.py")
    await close(session, environment)


async def test_the_branch_there_is_reviewed_without_what_rules_hide(tmp_path: Path, host: SshHost) -> None:
    there = made(host.home / "project", a_py="a = 1\n", secret_py="s = 1\n")
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "first")):
        git(there, *arguments)
    made(there, a_py="a = 2\n", secret_py="s = 2\n", new_py="n = 1\n")
    denied = (RuleInForce("deny", Rule("Read", "./secret.py"), "settings"),)
    environment = environment_on(host, tmp_path / "own", scripted([]), there, permissions=denied)
    session = await Session.start(environment, "scripted")
    changes = (await session.review()).changes
    text = (changes.data or b"").decode()
    assert changes.name == "all changes since the last commit" and "+a = 2" in text and "not in git yet: new.py" in text
    assert "s = 2" not in text
    git(there, "checkout", "-q", ".")
    (there / "new.py").unlink()
    with pytest.raises(ReviewRefused, match="no changes on this branch"):
        await session.review()
    with host.down(), pytest.raises(ReviewRefused, match="No connection to box"):
        await session.review()
    await close(session, environment)


async def test_the_users_command_there_is_stopped_with_all_it_started(tmp_path: Path, host: SshHost) -> None:
    there = made(host.home / "project", a_txt="a")
    environment = environment_on(host, tmp_path / "own", scripted([]), there)
    session = await Session.start(environment, "scripted")
    running = asyncio.create_task(session.run_command("echo $$ > begun; sleep 600 | cat"))
    await until(lambda: (there / "begun").exists() and (there / "begun").read_text().strip() != "")
    process = Path("/proc") / (there / "begun").read_text().strip()
    assert process.exists()
    session.interrupt()
    await running
    await until(lambda: not process.exists())
    assert "was stopped by the user" in str(session.state.history[-1].message)
    await close(session, environment)


@only_in_a_long_run
async def test_a_host_that_is_down_fails_the_users_command_with_a_sentence(tmp_path: Path, host: SshHost) -> None:
    there = made(host.home / "project", a_txt="a")
    environment = environment_on(host, tmp_path / "own", scripted([]), there)
    session = await Session.start(environment, "scripted")
    with host.down():
        await session.run_command("pwd")
    assert "could not be started (No connection to box: it refuses" in str(session.state.history[-1].message)
    await session.run_command("pwd")
    assert f"{there}\\n" in str(session.state.history[-1].message) and results_of(session) == []
    await close(session, environment)
