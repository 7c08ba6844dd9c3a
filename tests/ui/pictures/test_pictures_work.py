"""Work in a folder as pictures: what is asked, how far the plan has come, and what others were asked to do."""

import asyncio
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input, OptionList

from co_tui.events import (
    DelegationEnd,
    DelegationStart,
    Event,
    Message,
    PlanChanged,
    SessionInterrupted,
    SessionStart,
    UsageInfo,
)
from co_tui.events.file_diff import DIFF as KEPT
from co_tui.events.stored_messages import ATTACHED, COMMAND
from co_tui.session.approvals.questions import ApprovalQuestion, ModelQuestion
from co_tui.ui.approvals.question_bar import QuestionPanel
from co_tui.ui.approvals.whole_question import WholeQuestionScreen
from co_tui.ui.chat.deferred_widgets import Completions
from co_tui.ui.control.dialog_questions import DialogQuestions
from co_tui.ui.models.model_list import ModelEntry
from co_tui.ui.models.models_screen import ModelScreen, ModelsKnown
from tests.support.pictures import Pictures, Scene, Stored, logged
from tests.support.provider import Provider
from tests.support.screen import launch_for, until
from tests.ui.approvals.test_permissions import WorkingSandbox

STEPS = ("read the tests", "find the fixture", "patch the order", "run all", "note it in the changelog")
STATES = ("completed", "completed", "in_progress", "pending", "pending")
NUMBERED = "1|import os\n2|\n3|def store():\n4|    return open_store()"


def said(kind: str, *parts: dict[str, Any], agent: str = "") -> Message:
    return Message(turn=1, agent=agent, message={"kind": kind, "parts": list(parts)})


def calls(*called: tuple[str, str, dict[str, Any]], agent: str = "") -> Message:
    parts = [
        {"part_kind": "tool-call", "tool_name": tool, "tool_call_id": call_id, "args": json.dumps(arguments)}
        for call_id, tool, arguments in called
    ]
    return said("response", *parts, agent=agent)


def returns(*returned: tuple[str, str, str], outcome: str = "success", agent: str = "") -> Message:
    parts = [
        {"part_kind": "tool-return", "tool_name": tool, "tool_call_id": call_id, "content": text, "outcome": outcome}
        for call_id, tool, text in returned
    ]
    return said("request", *parts, agent=agent)


def work_so_far() -> list[Event]:
    """An hour of work, as the log has it."""
    notes = {"content": "notes.md\n```\nIt fails on CI only.\nSince Monday.\n```", "metadata": {ATTACHED: "notes.md"}}
    words = "Mend the flaky login test. The notes are in @notes.md."
    prompt = {"part_kind": "user-prompt", "content": [words, notes]}
    ran = Message(
        turn=1,
        message={
            "kind": "request",
            "metadata": {COMMAND: "git status --short"},
            "parts": [
                {
                    "part_kind": "user-prompt",
                    "content": "[The user ran a command in ~/shop. It ended with exit code 0 after 0.1 s.]\n"
                    "git status --short\n\n```\n M tests/test_login.py\n```",
                }
            ],
        },
    )
    usage = UsageInfo(
        token_limit=200_000, current_tokens=52_000, messages_count=14, system_tokens=3_100, conversation_tokens=37_900,
        tool_definition_tokens=11_000, limit_known=True, measured="provider", cost=0.19,
    )  # fmt: skip
    facts = [
        SessionStart(model="anthropic:claude-sonnet-5", policy="balanced", branch="main"),
        ran,
        said("request", prompt),
        calls(("p", "write_plan", {"items": [{"content": text} for text in STEPS]})),
        PlanChanged(steps=tuple({"text": text, "state": state} for text, state in zip(STEPS, STATES, strict=True))),
        returns(("p", "write_plan", "5 steps")),
        calls(
            ("r", "read_file", {"path": "tests/test_login.py"}), ("c", "run_command", {"command": "uv run pytest -x"})
        ),
        returns(("r", "read_file", f"[tests/test_login.py | 41 lines]\n{NUMBERED}")),
        returns(("c", "run_command", "[stdout]\n1 failed\n[exit code: 1]\n[took 2.1 s]")),
        calls(("g", "run_command", {"command": "git push --force origin main"})),
        returns(("g", "run_command", "The user denied it: not yet"), outcome="denied"),
        said(
            "response", {"part_kind": "text", "content": "The fixture opens the store too early. Two others look on."}
        ),
        calls(
            ("d1", "delegate_task", {"agent_name": "self", "task": "Find every caller of open_store"}),
            ("d2", "delegate_task", {"agent_name": "self", "task": "Check the CI logs"}),
        ),
        DelegationStart(agent="self 1", name="self", task="Find every caller of open_store", call_id="d1"),
        DelegationStart(agent="self 2", name="self", task="Check the CI logs", call_id="d2"),
        calls(("s", "search_files", {"pattern": "open_store"}), agent="self 1"),
        returns(("s", "search_files", "a.py:3\nb.py:9"), agent="self 1"),
        said("response", {"part_kind": "text", "content": "Two callers."}, agent="self 1"),
        DelegationEnd(agent="self 1", outcome="done", usage={"input_tokens": 41_000}, cost=0.02),
        usage,
    ]
    return logged(facts)


class AtWork(Stored):
    events = work_so_far()


DIFF = "\n".join(
    (
        "--- tests/test_login.py",
        "+++ tests/test_login.py",
        "@@ -1,6 +1,7 @@",
        " import os",
        " ",
        "-def store():",
        "-    return open_store()",
        "+def store(tmp_path, monkeypatch):",
        '+    monkeypatch.setenv("SESSION_DIR", str(tmp_path))',
        "+    return open_store(tmp_path)",
        " ",
        " def test_login(store):",
    )
)
CHANGE = ApprovalQuestion(
    tool="edit_file", arguments={"path": "tests/test_login.py"}, what=DIFF, rules=("Edit(tests/**)",)
)
TESTS = ApprovalQuestion(
    tool="run_command",
    arguments={"command": "grep -rn login tests | head -5 && uv run pytest -k login"},
    what="grep -rn login tests | head -5 && uv run pytest -k login",
    where="/shop · not sandboxed",
    new=("uv run pytest -k login",),
    rules=("Bash(uv run pytest, harmless options)",),
)
FORCED = ApprovalQuestion(
    tool="run_command",
    arguments={"command": "git push --force origin main"},
    what="git push --force origin main",
    where="/shop · sandboxed: writes only in this folder, no network, known keys hidden",
    new=("git push --force origin main",),
    danger="publishes or sends to others",
    agent="self 1",
    number=1,
    of=2,
)
PLAN = ApprovalQuestion(
    tool="present_plan",
    arguments={
        "summary": "The fixture opens the store **before** the environment is patched.",
        "steps": ["Patch SESSION_DIR in the fixture", "Open the store after it", "Run all tests"],
    },
    what="",
)
SEVERAL = ModelQuestion(
    question="Which versions of Python shall the tests run on?", options=("3.11", "3.12", "3.13"), multiple=True
)
WHICH = ModelQuestion(
    question="Which spelling shall the greeting have?\nhello: as in English\nhallo: as in German",
    options=("hello", "hallo", "both, chosen by the language of whoever is greeted"),
)


def asked(question: ApprovalQuestion | ModelQuestion) -> Scene:
    async def scene(pilot: Any) -> None:
        app = pilot.app
        await until(pilot, lambda: app.controller.state.turn)
        questions = DialogQuestions(app, app.chat, WorkingSandbox())
        ask = questions.ask(question) if isinstance(question, ModelQuestion) else questions.approve(question)
        app.asking = asyncio.create_task(ask)
        await until(pilot, lambda: app.chat.query(QuestionPanel) and app.chat.query_one(QuestionPanel).has_focus)

    return scene


def asked_whole(question: ApprovalQuestion) -> Scene:
    async def scene(pilot: Any) -> None:
        await asked(question)(pilot)
        await pilot.press("space")
        await until(pilot, lambda: isinstance(pilot.app.screen, WholeQuestionScreen))

    return scene


async def checked(pilot: Any) -> None:
    await asked(SEVERAL)(pilot)
    await pilot.press("space", "down", "down", "space")


async def opened(pilot: Any) -> None:
    await until(pilot, lambda: pilot.app.controller.state.turn)
    await pilot.press("ctrl+o")
    await pilot.pause()


async def files_offered(pilot: Any) -> None:
    app = pilot.app
    await until(pilot, lambda: app.controller.state.turn and app.chat.query(Completions))
    names = ("docs/how to log in.md", "src/shop/login.py", "notes.md", "tests/test_login.py", "login.py")
    for age_s, name in enumerate(reversed(names), 1):
        path = app.launch.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (1_000_000 - age_s, 1_000_000 - age_s))
    await pilot.press("e", "x", "p", "space", "@", "l", "o", "g")
    await until(pilot, lambda: app.chat.query_one(Completions).display)


async def models_offered(pilot: Any) -> None:
    app = pilot.app
    await until(pilot, lambda: app.controller.state.turn)
    here = [
        ModelEntry(model="openai-chat:llama3.2:latest@http://127.0.0.1:11434/v1", note="Ollama", most_tokens=131_072),
        ModelEntry(model="openai-chat:qwen3-8b@http://127.0.0.1:1234/v1", note="LM Studio", window_tokens=16_384),
    ]
    known = [
        ModelEntry(model="anthropic:claude-sonnet-5", window_tokens=1_000_000, input_price=3, output_price=15),
        ModelEntry(model="openai:gpt-6-sol", window_tokens=400_000, input_price=1.25, output_price=10),
        ModelEntry(model="groq:openai/gpt-oss-120b", window_tokens=131_072, input_price=0.15, output_price=0.6),
    ]
    environ = {"ANTHROPIC_API_KEY": "sk-ant-test"}
    screen = ModelScreen(ModelsKnown(environ=environ, present="anthropic:claude-sonnet-5", recent=["openai:gpt-6-sol"]))
    # Nothing is looked up, so that every picture is the same.
    screen._load_catalogue = screen._look_around = partial(asyncio.sleep, 0)
    screen._models.learn_catalogue(known)
    screen._models.learn_here(here)
    await app.push_screen(screen)
    screen.query_one(Input).cursor_blink = False
    await until(pilot, lambda: screen.query_one(OptionList).option_count > 6)


def changes_made() -> list[Event]:
    """Files that were changed, one by a few lines and one by many, and a delegation that failed."""
    many = "\n".join(f"{sign}    value_{n} = {n * (1 + (sign == '+'))}" for n in range(40) for sign in "-+")
    whole = f"--- src/settings.py\n+++ src/settings.py\n@@ -101,40 +101,40 @@\n{many}"
    diffs = {"e": DIFF, "w": whole, "n": "No changes to docs/other.md"}
    made = [
        {"part_kind": "tool-return", "tool_name": "x", "tool_call_id": call_id, "content": "", "metadata": {KEPT: diff}}
        for call_id, diff in diffs.items()
    ]
    done = [*("completed",) * 4, "in_progress"]
    facts = [
        SessionStart(model="anthropic:claude-sonnet-5", policy="balanced", branch="main"),
        said("request", {"part_kind": "user-prompt", "content": "Mend it, and ask another about the logs."}),
        PlanChanged(steps=tuple({"text": text, "state": state} for text, state in zip(STEPS, done, strict=True))),
        calls(("d", "delegate_task", {"agent_name": "self", "task": "Check the CI logs"})),
        DelegationStart(agent="self 1", name="self", task="Check the CI logs", call_id="d"),
        DelegationEnd(agent="self 1", outcome="failed", error="The provider is not reachable.", usage={}),
        returns(("d", "delegate_task", "self 1 failed"), outcome="failed"),
        calls(
            ("w", "write_file", {"path": "src/settings.py", "content": "x"}),
            ("n", "write_file", {"path": "docs/other.md", "content": "x"}),
            ("e", "edit_file", {"path": "tests/test_login.py", "old_text": "a", "new_text": "b"}),
        ),
        said("request", *made),
        said("response", {"part_kind": "text", "content": "The fixture is patched"}).but(interrupted=True),
        SessionInterrupted(what="interrupted by the user", outcome="kept what came"),
    ]
    return logged(facts)


class Changed(Stored):
    events = changes_made()


SCENES: dict[str, Scene] = {
    "change": asked(CHANGE),
    "command": asked(TESTS),
    "command, whole": asked_whole(TESTS),
    "change, whole": asked_whole(CHANGE),
    "danger": asked(FORCED),
    "plan": asked(PLAN),
    "question": asked(WHICH),
    "several": checked,
    "opened": opened,
    "files": files_offered,
    "models": models_offered,
}


@pytest.mark.parametrize("scene", SCENES)
async def test_at_work(pictures: Pictures, home: Path, provider: Provider, scene: str) -> None:
    await pictures(AtWork(launch_for(home, provider)), SCENES[scene])


async def seen(pilot: Any) -> None:
    await until(pilot, lambda: pilot.app.controller.state.turn)


async def test_changed(pictures: Pictures, home: Path, provider: Provider) -> None:
    await pictures(Changed(launch_for(home, provider)), seen, ((80, 24), (120, 40), (200, 60)))


async def test_changed_under_other_themes(pictures: Pictures, home: Path, provider: Provider) -> None:
    await pictures.under(Changed(launch_for(home, provider)), seen, ("high-contrast", "high-contrast-light"))
