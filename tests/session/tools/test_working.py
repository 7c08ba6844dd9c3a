"""A model at work in a repository, with the real tools: what it may, what is asked, and what is kept of it."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from co_tui.agent.tool_names import COMMAND_TOOLS, READING_TOOLS
from co_tui.events import ApprovalDecided, ApprovalRequested, PlanChanged
from co_tui.session.approvals.questions import NOT_APPROVED, Approval, Unattended
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from tests.support.approving import YES, Person, Somebody, left, log_of
from tests.support.compacting import texts
from tests.support.environments import facts
from tests.support.long_run import also_in_a_long_run
from tests.support.waiting import until
from tests.support.working import Working, repository, working_in

CHECK = f"{sys.executable} check.py"
FIX = ("edit_file", {"path": "login.py", "old_text": "helo", "new_text": "hello"})
CHANGING = {"write_file", "edit_file", "create_directory"}
PLAN = ("read the code", "mend it", "run the check")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")


def plan(*states: str) -> tuple[str, dict]:
    items = [{"content": text, "status": state} for text, state in zip(PLAN, states, strict=True)]
    return "write_plan", {"items": items}


async def test_a_whole_job(folder: Path, home: Path) -> None:
    which = {
        "header": "Word",
        "question": "Which spelling?",
        "options": [{"label": "hello", "description": "English"}, {"label": "hallo"}],
    }
    model = Working(
        plan("in_progress", "pending", "pending"),
        [("read_file", {"path": "login.py"}), ("run_command", {"command": "git status --short"})],
        ("run_command", {"command": CHECK}),
        ("ask_user_question", {"questions": [which]}),
        FIX,
        ("run_command", {"command": "git push"}),
        ("run_command", {"command": CHECK}),
        plan("completed", "completed", "completed"),
    )
    no = Approval(approved=False, by="user", reason="nothing leaves this machine")
    person = Somebody(YES, YES, no, YES, says="hello")
    environment = working_in(folder, home, model, person)
    session = await Session.start(environment, "scripted")
    assert await session.submit("mend the greeting") is Outcome.DONE

    run, edit, push, again = person.asked
    assert (run.what, run.where, run.danger) == (CHECK, f"{folder} · not sandboxed", "")
    assert edit.tool == "edit_file" and edit.rules == ("Edit(./*)",)
    assert "-    return 'helo'\n+    return 'hello'" in edit.what
    assert push.danger == "publishes or sends to others" and push.rules == () and again.arguments == {"command": CHECK}
    assert [question.options for question in person.questions] == [("hello", "hallo")]
    assert (folder / "login.py").read_text() == "def greeting():\n    return 'hello'\n"

    told = model.returned
    assert "return 'helo'" in told[1] and "A  login.py" in told[2] and "[exit code: 1]" in told[3]
    assert "hello" in told[4] and "nothing leaves this machine" in told[6] and told[7] == "[stdout]\nok\n"
    changes = facts(log_of(environment, session), PlanChanged)
    assert [[step["state"] for step in change.steps] for change in changes] == [
        ["in_progress", "pending", "pending"],
        ["completed"] * 3,
    ]
    assert tuple(step["text"] for step in session.state.plan) == PLAN
    await left(environment, session)


async def test_resumed_in_the_middle_of_a_pending_change(folder: Path, home: Path) -> None:
    person = Person()
    environment = working_in(folder, home, Working(FIX), person)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("mend it"))
    await until(lambda: person.asked)
    await session.close()
    await turn
    assert "helo" in (folder / "login.py").read_text()
    environment.questions = person = Person(YES)
    resumed = await Session.resume(environment, session.id)
    assert await resumed.ask_pending() is Outcome.DONE
    assert "+    return 'hello'" in person.asked[0].what, "the diff is there again"
    assert "hello" in (folder / "login.py").read_text()
    await left(environment, resumed)


async def test_a_session_continues_in_another_folder(folder: Path, home: Path, tmp_path: Path) -> None:
    environment = working_in(folder, home, model := Working(("read_file", {"path": "login.py"})), Person())
    session = await Session.start(environment, "scripted")
    await session.submit("look")
    await session.close()
    environment.workplace = LocalWorkplace(tmp_path)
    resumed = await Session.resume(environment, session.id)
    model.steps = [("list_directory", {"path": "."})]
    assert await resumed.submit("and here?") is Outcome.DONE
    assert "shop/" in model.returned[-1] and str(tmp_path) in model.instructions
    await left(environment, resumed)


async def test_a_free_line_is_run_from_the_words_that_were_judged(folder: Path, home: Path) -> None:
    """As written, `sort` would take the new name for an option and overwrite git's configuration."""
    config = (folder / ".git/config").read_text()
    write = ("write_file", {"path": "-o.git/config", "content": "[core]\n\tfsmonitor = touch planted\n"})
    model, person = Working(write, ("run_command", {"command": "sort */c*"})), Person(YES)
    environment = working_in(folder, home, model, person, mode="edits")
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    assert [question.arguments["path"] for question in person.asked] == ["-o.git/config"]
    assert "fsmonitor" in model.returned[1] and (folder / ".git/config").read_text() == config
    calls = [part for message in model.requests[-1] for part in message.parts if hasattr(part, "args")]
    assert "sort */c*" in str(calls[-1].args), "the model sees the line as written"
    await left(environment, session)


REFUSED = [
    (("read_file", {"path": "link"}), "outside"),
    (("read_file", {"path": "../outside.txt"}), "outside"),
    (("write_file", {"path": "../outside.txt", "content": "x"}), "outside"),
    (("write_file", {"path": "link", "content": "x"}), "outside"),
    (("write_file", {"path": "/etc/nothing", "content": "x"}), "outside"),
    (("edit_file", {"path": "link", "old_text": "secret", "new_text": "x"}), "outside"),
    (("create_directory", {"path": "../more"}), "outside"),
    (("write_file", {"path": ".git/hooks/pre-commit", "content": "x"}), "protected"),
    (("write_file", {"path": ".env", "content": "x"}), "protected"),
    (("edit_file", {"path": "nothing.py", "old_text": "a", "new_text": "b"}), "not found"),
    (("edit_file", {"path": "login.py", "old_text": "not there", "new_text": "x"}), "not found"),
]


async def test_what_cannot_work_is_refused_by_a_sentence_and_no_one_is_asked(
    folder: Path, home: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")
    (folder / "link").symlink_to(outside)
    environment = working_in(folder, home, model := Working(*(call for call, _ in REFUSED)), person := Person())
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    for (call, sentence), returned in zip(REFUSED, model.returned, strict=True):
        assert sentence in returned.lower() and "secret" not in returned.replace("secrets", ""), call
    assert person.asked == [] and outside.read_text() == "secret"
    assert not (folder / ".env").exists() and not (folder / "../more").exists()
    await left(environment, session)


async def test_a_rule_holds_in_later_sessions_of_the_project(folder: Path, home: Path, tmp_path: Path) -> None:
    rule = f"Bash({CHECK})"
    always = Approval(approved=True, by="user", scope="project", rules=(rule,))
    environment = working_in(folder, home, Working(("run_command", {"command": CHECK})), Person(always))
    session = await Session.start(environment, "scripted")
    await session.submit("run it")
    await session.close()
    kept = environment.paths.state / "approvals.json"
    assert json.loads(kept.read_text())[str(folder)] == [rule]
    assert kept.stat().st_mode & 0o777 == 0o600
    environment.store.close()
    (folder / "sub").mkdir()
    other = repository(tmp_path / "other")
    for place, asked in ((folder / "sub", 0), (other, 1)):
        command = {"command": CHECK}
        environment = working_in(place, home, Working(("run_command", command)), person := Person(YES))
        session = await Session.start(environment, "scripted")
        await session.submit("again")
        assert len(person.asked) == asked
        await left(environment, session)


async def test_without_anyone_there_a_change_is_refused_and_the_work_continues(folder: Path, home: Path) -> None:
    model = Working(FIX, ("read_file", {"path": "login.py"}))
    environment = working_in(folder, home, model, Unattended())
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    assert model.returned[0] == NOT_APPROVED and "helo" in model.returned[1]
    asked, decided = facts(log_of(environment, session), ApprovalRequested | ApprovalDecided)
    assert "+    return 'hello'" in asked.what and not decided.approved
    await left(environment, session)


async def test_read_only_gives_no_tool_that_changes_anything(folder: Path, home: Path) -> None:
    environment = working_in(folder, home, model := Working(), Unattended(read_only=True))
    environment.read_only = True
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert {"read_file", "list_directory", "search_files"} <= set(model.offered)
    assert set(model.offered).isdisjoint(
        {"write_file", "edit_file", "create_directory", "run_command", "start_command"}
    )
    assert "change nothing" in model.instructions
    await left(environment, session)


@pytest.mark.parametrize(
    ("settings", "window", "tools"),
    [
        ({"tools": ()}, 60_000, set()),
        ({"tools": ("plan",)}, 60_000, {"write_plan"}),
        ({}, 4_096, set()),
        (
            {"tools": ("commands", "files", "plan", "questions")},
            7_692,
            COMMAND_TOOLS | READING_TOOLS | CHANGING | {"check_command", "stop_command", "read_artifact"},
        ),
        (
            {"tools": ("commands", "plan", "questions")},
            5_500,
            COMMAND_TOOLS | {"check_command", "stop_command", "read_artifact", "write_plan"},
        ),
    ],
)
async def test_settings_and_the_window_decide_what_there_is(folder: Path, home: Path, settings, window, tools) -> None:
    environment = working_in(folder, home, model := Working(window=window), Person(), **settings)
    session = await Session.start(environment, "scripted")
    await session.submit("go")
    assert set(model.offered) - {"request_compaction", "recall"} == tools
    await left(environment, session)


@pytest.mark.parametrize("form", also_in_a_long_run(["full"], ["prompt", "pair", "marker"]))
async def test_plan_and_skills_are_in_every_request_after_a_compaction(folder: Path, home: Path, form: str) -> None:
    (folder / "long.txt").write_text("\n".join(f"line {n} of something long enough to count" for n in range(400)))
    skill = folder / ".claude" / "skills" / "greet"
    skill.mkdir(parents=True)
    odd = '"How to greet \\ud800"'  # half a character, which no request can carry
    (skill / "SKILL.md").write_text(f"---\nname: greet\ndescription: {odd}\n---\nSay it in French.\n")
    large = skill.parent / "large"
    large.mkdir()
    words = "\n".join(f"Step {n} of many steps." for n in range(2_000))
    (large / "SKILL.md").write_text(f"---\nname: large\ndescription: A long one\n---\n{words}\n")
    read = ("read_file", {"path": "long.txt"})
    skills = [("load_capability", {"id": "greet"}), ("load_capability", {"id": "large"})]
    model = Working(plan("completed", "in_progress", "pending"), *skills, *[read] * 6)
    environment = working_in(folder, home, model, Person(), on_demand_form=form)
    session = await Session.start(environment, "scripted")
    assert await session.submit("read a lot") is Outcome.DONE
    assert (await session.compact()).success
    before, model.steps = len(model.requests), [read, read]
    assert await session.submit("and some more") is Outcome.DONE
    assert len(model.requests) == before + 3
    for request in map(str, model.requests[before:]):
        assert "## The plan\\n- [x] read the code\\n- [▶] mend it\\n- [ ] run the check" in request
        assert "## Skills in use\\n### greet\\n# Skill: greet" in request and request.count("Say it in French.") == 1
        assert "Step 3 of many steps." in request and "Step 1999 of many steps." not in request
        assert "more characters; `load_capability` with id large reads all of it]" in request
    assert (await session.compact()).success
    assert sum(text.count("Say it in French.") for text in texts(session.state)) == 1, "and after the next one"
    await left(environment, session)


async def test_a_skill_that_stays_in_the_context_is_not_repeated(folder: Path, home: Path) -> None:
    (folder / "long.txt").write_text("\n".join(f"line {n} of something long enough to count" for n in range(400)))
    skill = folder / ".claude" / "skills" / "greet"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: greet\ndescription: How to greet\n---\nSay it in French.\n")
    model = Working(*[("read_file", {"path": "long.txt"})] * 6)
    environment = working_in(folder, home, model, Person())
    session = await Session.start(environment, "scripted")
    assert await session.submit("read a lot") is Outcome.DONE
    model.steps = [("load_capability", {"id": "greet"})]
    assert await session.submit("and greet") is Outcome.DONE
    assert (await session.compact()).success
    model.steps = []
    assert await session.submit("again") is Outcome.DONE
    assert str(model.requests[-1]).count("Say it in French.") == 1
    assert "Skills in use" not in str(texts(session.state))
    await left(environment, session)
