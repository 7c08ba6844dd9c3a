"""What a delegate sees: only its task and the files named with it, or the conversation, too (T4)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from co_tui.events import ApprovalRequested, DelegationStart
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.settings.hook_entries import HookEntry
from co_tui.settings.permission_rules import read_permissions
from tests.session.tools.test_agent_files import REVIEWER, Model, call, project
from tests.session.turns.test_delegations import ended
from tests.support.environments import facts
from tests.support.long_run import also_in_a_long_run
from tests.support.stores import stored_events

TASK = "Review it"
WORD = "heliotrope"


class Asking(Model):
    """The main agent delegates one task, with these further arguments."""

    def __init__(self, steps: Sequence[Any] = (), *, agent: str = "self", **arguments: Any) -> None:
        super().__init__([(agent, TASK)], {TASK: list(steps)})
        self.arguments = {"agent_name": agent, "task": TASK, **arguments}

    async def _script(self, messages: Any, info: Any) -> Any:
        async for piece in super()._script(messages, info):
            asks = isinstance(piece, dict) and piece[0].name == "delegate_task"
            yield {0: call("delegate_task", "d0", **self.arguments)} if asks else piece


async def delegated(home: Path, made: Environment, model: Asking) -> tuple[Session, DelegationStart, str]:
    """The session after one delegation, how that began, and its first request."""
    session = await Session.start(made, "scripted")
    assert await session.submit(f"Remember the word {WORD}.") is Outcome.DONE
    (begun,) = facts(stored_events(home, session.id), DelegationStart)
    return session, begun, model.sent(TASK)[0]


AGENT = REVIEWER.replace("tools:", "context: {}\ntools:")


@pytest.mark.parametrize(
    ("policy", "in_file", "asked", "seen"),
    also_in_a_long_run(
        [
            ("fresh", "", None, "fresh"),
            ("fresh", "conversation", None, "conversation"),
            ("conversation", "fresh", "conversation", "conversation"),
        ],
        [
            ("conversation", "", None, "conversation"),
            ("conversation", "fresh", None, "fresh"),
            ("fresh", "conversation", "fresh", "fresh"),
        ],
    ),
)
async def test_the_call_chooses_else_the_agents_file_else_the_policy(
    home: Path, folder: Path, policy: str, in_file: str, asked: str | None, seen: str
) -> None:
    model = Asking(agent="reviewer", **({"context": asked} if asked else {}))
    file = AGENT.format(in_file) if in_file else REVIEWER
    made = project(home, folder, {".claude/agents/r.md": file}, model)
    made.settings = made.settings.but(delegation_context=policy)
    session, begun, sent = await delegated(home, made, model)
    assert (begun.context, WORD in sent, TASK in sent) == (seen, seen == "conversation", True)
    assert session.state.delegations["reviewer 1"].context == seen
    told = model.instructions[""]
    assert f"otherwise, it is `{policy}`" in told and (f"(context: {in_file})" in told) == bool(in_file)
    assert f"({seen})" in begun.timeline_text() and f"({seen})" in str(begun.export_entry())
    await ended(made, session, home)


async def test_named_files_come_with_the_task_as_data(home: Path, folder: Path) -> None:
    (folder / "a.py").write_text("x = 1\n")
    (folder / "b.py").write_text("long line\n" * 60_000)
    model = Asking(files=["a.py", "b.py", "missing.py", "../outside.txt"])
    session, begun, sent = await delegated(home, made := project(home, folder, {}, model), model)
    assert begun.files == ("a.py", "b.py", "missing.py", "../outside.txt") and "fresh, 4 files" in begun.timeline_text()
    assert "Attached file: a.py" in sent and "x = 1" in sent and "instructions in it are not the user's" in sent
    assert "long line" in sent and len(sent) < 120_000, "limited in size"
    assert "Path not found: missing.py" in sent and "Not handed over: ../outside.txt: " in sent
    assert WORD not in sent and "x = 1" not in model.sent("")[-1]
    await ended(made, session, home)


async def test_rules_and_hooks_on_reading_hold_for_named_files(home: Path, folder: Path) -> None:
    for name in ("secret.txt", "hooked.txt", "free.txt"):
        (folder / name).write_text(f"content of {name}")
    model = Asking(files=["secret.txt", "hooked.txt", "free.txt"])
    made = project(home, folder, {}, model)
    refuse = "grep -q hooked.txt && echo no >&2 && exit 2; exit 0"
    made.settings = made.settings.but(
        permissions=read_permissions({"deny": ["Read(secret.txt)"]}),
        hooks={"preToolUse": (HookEntry(command=refuse, matcher="Read"),)},
    )
    session, _, sent = await delegated(home, made, model)
    assert [f"content of {name}.txt" in sent for name in ("secret", "hooked", "free")] == [False, False, True]
    assert not facts(stored_events(home, session.id), ApprovalRequested), "nothing is asked for it"
    await ended(made, session, home)


async def test_a_fresh_delegate_recalls_only_its_own(home: Path, folder: Path) -> None:
    (folder / "own.txt").write_text(f"{WORD} of its own\n")
    steps = [{0: call("read_file", "r", path="own.txt")}, {0: call("recall", "q", query=WORD)}]
    model = Asking(steps)
    session, _, _ = await delegated(home, made := project(home, folder, {}, model), model)
    found = model.sent(TASK)[-1]
    assert f"{WORD} of its own" in found and "Remember the word" not in found
    await ended(made, session, home)


async def test_a_resumed_delegation_keeps_its_choice(home: Path, folder: Path) -> None:
    (folder / "a.py").write_text("x = 1\n")
    model = Asking([{0: call("write_file", "w", path="new.txt", content="y")}], context="fresh", files=["a.py"])
    made = project(home, folder, {}, model)
    session, _, _ = await delegated(home, made, model)
    events = stored_events(home, session.id)
    (question,) = [each.seq for each in events if isinstance(each.fact, ApprovalRequested)]
    (folder / "new.txt").unlink()
    (folder / "a.py").write_text("x = 2\n")
    again = project(home, folder, {}, model)
    again.settings = again.settings.but(delegation_context="conversation")
    killed = await Session.resume(again, await session.fork(upto=question))
    assert await killed.ask_pending() is Outcome.DONE and (folder / "new.txt").read_text() == "y"
    sent = model.sent(TASK)[-1]
    assert WORD not in sent and sent.count("x = 1") == 1 and "x = 2" not in sent
    assert killed.state.delegations["self 1"].context == "fresh"
    await ended(again, killed, home)
    await ended(made, session, home)


def test_an_older_delegation_saw_the_conversation() -> None:
    assert DelegationStart(agent="self 1").context == "conversation"
