"""Transfers: another agent of the files answers in the conversation itself, until it or the user hands it back (T4)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo

from co_tui.events import AgentTransfer, ApprovalRequested, ModelChange, SessionError
from co_tui.events.decisions import undecided
from co_tui.session.approvals.questions import Approval, ApprovalQuestion, Unattended
from co_tui.session.environment import Environment
from co_tui.session.runtime.transfers import TransferRefused
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.context.request.test_repair import breaches
from tests.session.tools.test_agent_files import REVIEWER, Person, asks, call, project
from tests.session.turns.test_delegations import ended, whole
from tests.support.environments import ScriptedModel, facts
from tests.support.stores import stored_events
from tests.support.waiting import PATIENCE_S

FILE = ".claude/agents/r.md"
ON_ANOTHER = REVIEWER.replace("tools:", "model: other:model\ntools:")


class Asked:
    """A request as sent."""

    def __init__(self, model: str, messages: list[ModelMessage], info: AgentInfo) -> None:
        self.model, self.messages = model, messages
        self.tools = {tool.name: tool for tool in info.function_tools}
        self.instructions = info.instructions or ""

    @property
    def text(self) -> str:
        return whole(self.messages)

    @property
    def who(self) -> str:
        return "reviewer" if "You review." in self.instructions else "main"


class Agents:
    """Models that share one script, a step for each request."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)
        self.asked: list[Asked] = []

    def model(self, name: str = "scripted") -> ScriptedModel:
        async def script(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
            assert breaches(messages) == []
            self.asked.append(Asked(name, messages, info))
            step = self.steps[len(self.asked) - 1] if len(self.asked) <= len(self.steps) else "Done."
            for piece in step if isinstance(step, list) else [step]:
                yield piece

        return ScriptedModel(script, name=name, window=60_000)

    @property
    def spoke(self) -> list[tuple[str, str]]:
        return [(each.who, each.model) for each in self.asked]


def hands_to(name: str, id: str = "t", **more: str) -> dict[int, Any]:
    return {0: call("transfer_to_agent", id, agent_name=name, **more)}


def made_with(home: Path, folder: Path, agents: Agents, file: str = REVIEWER, *, other: bool = False) -> Environment:
    models = [agents.model(), *([agents.model("other:model")] if other else [])]
    return project(home, folder, {FILE: file} if file else {}, *models)  # type: ignore[arg-type]


def transfers(home: Path, session: Session) -> Sequence[tuple[str, str, str]]:
    return [(each.from_, each.to, each.by) for each in facts(stored_events(home, session.id), AgentTransfer)]


async def test_the_model_hands_over_and_the_agent_hands_back(home: Path, folder: Path) -> None:
    (folder / "a.txt").write_text("secret of alpha")
    read = {0: call("read_file", "r", path="a.txt")}
    agents = Agents(read, hands_to("reviewer", message="Quote it."), "Quoted.", hands_to("main", "t2"), "Main again.")
    made = made_with(home, folder, agents, ON_ANOTHER, other=True)
    session = await Session.start(made, "scripted")
    assert await session.submit("Review a.txt.") is Outcome.DONE
    assert agents.spoke == [("main", "scripted"), ("main", "scripted"), ("reviewer", "other:model")]
    first, _, handed = agents.asked
    schema = first.tools["transfer_to_agent"].parameters_json_schema
    assert schema["properties"]["agent_name"]["enum"] == ["reviewer"]
    assert "Review a.txt." in handed.text and "secret of alpha" in handed.text and "Quote it." in str(handed.messages)
    assert handed.tools.keys() == {"read_file", "search_files", "transfer_to_agent"}, "its file's, and to hand back"
    assert "handed to you, the agent `reviewer`" in handed.instructions and "delegate_task" not in handed.instructions
    assert (session.state.speaker, session.state.model, session.state.turn) == ("reviewer", "other:model", 1)

    assert await session.submit("And now?") is Outcome.DONE
    assert agents.spoke[3:] == [("reviewer", "other:model"), ("main", "scripted")]
    assert "write_file" in agents.asked[-1].tools and "handed to you" not in agents.asked[-1].instructions
    assert (session.state.speaker, session.state.model) == ("", "scripted")
    assert transfers(home, session) == [("main", "reviewer", "model"), ("reviewer", "main", "model")]
    logged = next(each for each in stored_events(home, session.id) if isinstance(each.fact, AgentTransfer))
    assert (logged.type, logged.fact.timeline_text()) == ("agent.transfer", "agent → reviewer\nQuote it.")
    await ended(made, session, home)


async def test_only_where_there_are_other_agents_and_never_for_a_delegate(home: Path, folder: Path) -> None:
    alone = Agents("Hello.")
    made = made_with(home, folder, alone, file="")
    session = await Session.start(made, "scripted")
    await session.submit("Hello.")
    assert "delegate_task" in alone.asked[0].tools and "transfer_to_agent" not in alone.asked[0].tools
    with pytest.raises(TransferRefused, match=r"Unknown agent 'reviewer'\. There are no other agents\."):
        await session.hand_to("reviewer")
    await ended(made, session, home)

    agents = Agents(asks(("self", "A part"), ("reviewer", "Another")))
    made = made_with(home, folder, agents)
    session = await Session.start(made, "scripted")
    await session.submit("Do it.")
    assert ["transfer_to_agent" in each.tools for each in agents.asked] == [True, False, False, True]
    await ended(made, session, home)


async def test_the_user_hands_over_and_it_holds_after_resume_rewind_undo_and_in_forks(home: Path, folder: Path) -> None:
    agents = Agents()
    made = made_with(home, folder, agents, ON_ANOTHER, other=True)
    session = await Session.start(made, "scripted")
    await session.submit("First.")
    with pytest.raises(TransferRefused, match=r"Unknown agent 'nobody'\. Use one of reviewer\."):
        await session.hand_to("nobody")
    with pytest.raises(TransferRefused, match="main answers already"):
        await session.hand_to("main")
    await session.submit("Second.")
    await session.hand_to("reviewer")
    assert session.state.model == "other:model", "at once"
    await session.submit("Third.")
    before = await session.fork(session.state.transcript[1].seq)
    await session.close()

    session = await Session.resume(made, session.id)
    await session.submit("Fourth.")
    assert agents.spoke[2:] == [("reviewer", "other:model")] * 2
    await session.edits.rewind(2)
    assert (session.state.speaker, session.state.model) == ("", "scripted"), "before the transfer"
    await session.submit("Again.")
    assert agents.spoke[-1] == ("main", "scripted")
    await session.edits.undo()
    assert session.state.speaker == "reviewer"
    await session.submit("Once more.")
    assert agents.spoke[-1] == ("reviewer", "other:model")
    now = await session.fork()
    await session.close()
    for copy, spoke in ((before, ("main", "scripted")), (now, ("reviewer", "other:model"))):
        session = await Session.resume(made, copy)
        await session.submit("In a copy.")
        assert agents.spoke[-1] == spoke
        await session.close()
    made.store.close()


async def test_an_agent_whose_file_is_gone_gives_way_to_the_main_one(home: Path, folder: Path) -> None:
    agents = Agents()
    made = made_with(home, folder, agents, ON_ANOTHER, other=True)
    session = await Session.start(made, "scripted")
    await session.hand_to("reviewer")
    await session.submit("First.")
    await session.close()
    (folder / FILE).unlink()
    session = await Session.resume(made, session.id)
    (error,) = facts(stored_events(home, session.id), SessionError)
    assert error.what == "The agent reviewer is no longer among the agents of this folder."
    assert error.outcome == "the main agent answers"
    await session.submit("Second.")
    assert agents.spoke == [("reviewer", "other:model"), ("main", "scripted")]
    assert transfers(home, session)[-1] == ("reviewer", "main", "co-tui")
    await ended(made, session, home)


async def test_a_model_that_cannot_be_had_is_reported_and_what_the_user_chose_stays(home: Path, folder: Path) -> None:
    agents = Agents()
    made = made_with(home, folder, agents, REVIEWER.replace("tools:", "model: no:such\ntools:"), other=True)
    session = await Session.start(made, "scripted")
    await session.hand_to("reviewer")
    (error,) = facts(stored_events(home, session.id), SessionError)
    assert (error.what, error.outcome) == ("Unknown model 'no:such'.", "reviewer uses scripted instead")
    await session.submit("First.")
    await session.switcher.switch_model("other:model")
    await session.hand_to("main")
    await session.submit("Second.")
    assert agents.spoke == [("reviewer", "scripted"), ("main", "other:model")]
    assert [each.for_agent for each in facts(stored_events(home, session.id), ModelChange)] == [""]
    await ended(made, session, home)


async def test_one_budget_one_order_and_approvals_as_for_the_main_agent(home: Path, folder: Path) -> None:
    writer = REVIEWER.replace("tools: Read, Grep\n", "")
    write = {1: call("write_file", "w", path="a.txt", content="x")}
    again = {0: call("write_file", "w2", path="b.txt", content="x")}
    agents = Agents([hands_to("reviewer"), write], again, hands_to("main", "t2"), hands_to("reviewer", "t3"))
    made = made_with(home, folder, agents, writer)
    made.settings = made.settings.but(agent_max_steps=4)
    session = await Session.start(made, "scripted")
    assert await session.submit("Write.") is Outcome.FAILED, "the steps of both count"
    assert [who for who, _ in agents.spoke] == ["main", "reviewer", "reviewer", "main"]
    assert isinstance(made.questions, Person) and len(made.questions.asked) == 2
    assert {each.agent for each in facts(stored_events(home, session.id), ApprovalRequested)} == {""}
    assert session.state.speaker == "reviewer", "a turn that was stopped keeps what was done"
    await ended(made, session, home)


async def test_a_compaction_keeps_who_answers(home: Path, folder: Path) -> None:
    agents = Agents(*[f"Words {number}. " * 200 for number in range(6)])
    made = made_with(home, folder, agents)
    session = await Session.start(made, "scripted")
    await session.hand_to("reviewer")
    for number in range(6):
        await session.submit(f"Question {number}.")
    assert (await session.compact()).success
    await session.submit("Last.")
    assert agents.asked[-1].who == "reviewer" and session.state.speaker == "reviewer"
    await ended(made, session, home)


async def test_a_call_behind_the_transfer_that_was_asked_about_still_runs_in_another_process(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = {1: call("write_file", "w", path="a.txt", content="x")}
    agents = Agents([hands_to("reviewer"), write])
    made = made_with(home, folder, agents)
    asked = asyncio.Event()

    class Away(Unattended):
        async def approve(self, question: ApprovalQuestion) -> Approval:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

    made.questions = Away()
    session = await Session.start(made, "scripted")
    turn = asyncio.create_task(session.submit("Write it, then review."))
    await asyncio.wait_for(asked.wait(), PATIENCE_S)
    await session.close()
    await turn
    made.questions = Person()
    session, opening = await Session.resume(made, session.id), asyncio.Event()

    async def opens() -> None:
        opening.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(session.switcher, "follow_speaker", opens)
    asking = asyncio.create_task(session.ask_pending())
    await asyncio.wait_for(opening.wait(), PATIENCE_S)
    await session.close()
    await asking
    session = await Session.resume(made, session.id)
    assert session.state.speaker == "reviewer" and session.state.pending, "also if it was left before it was asked"
    assert await session.ask_pending() is Outcome.DONE
    assert (folder / "a.txt").read_text() == "x", "the reviewer could not, but it was not the reviewer's call"
    assert [each.who for each in agents.asked] == ["main", "reviewer"]
    assert "write_file" not in agents.asked[-1].tools
    await ended(made, session, home)


async def test_calls_that_waited_when_it_was_killed_run_with_the_tools_of_the_agent_that_made_them(
    home: Path, folder: Path
) -> None:
    run, write = call("run_command", "c", command="touch made"), call("write_file", "w", path="a.txt", content="x")
    agents = Agents([{0: run}, {1: write}])
    made = made_with(home, folder, agents, REVIEWER.replace("Read, Grep", "Read, Bash"))
    killed: list[str] = []

    class Leaving(Unattended):
        async def approve(self, question: ApprovalQuestion) -> Approval:
            killed.append(await session.fork())  # has the question, and nothing that came after it
            await session.hand_to("main")
            killed.extend([await session.fork(), await session.fork()])
            return Approval(approved=False, by="user")

    made.questions = Leaving()
    session = await Session.start(made, "scripted")
    await session.hand_to("reviewer")
    await session.submit("Go.")
    await session.close()
    made.questions, spoke = Person(), list[str]()
    for copy, is_gone in zip(killed, (False, False, True), strict=True):
        if is_gone:
            (folder / FILE).unlink()
        session = await Session.resume(made, copy)
        assert await session.ask_pending() is Outcome.DONE
        assert (folder / "made").exists() is not is_gone and not (folder / "a.txt").exists()
        (folder / "made").unlink(missing_ok=True)
        spoke.append(agents.asked[-1].who)
        await session.close()
    assert spoke == ["reviewer", "main", "main"]
    made.store.close()


async def test_its_model_answers_from_any_event_on_that_a_copy_starts_at(home: Path, folder: Path) -> None:
    agents = Agents(hands_to("reviewer"))
    made = made_with(home, folder, agents, ON_ANOTHER, other=True)
    session = await Session.start(made, "scripted")
    await session.submit("First.")
    events = stored_events(home, session.id)
    (handed,) = (each.seq or 0 for each in events if isinstance(each.fact, AgentTransfer))
    (changed,) = (each.seq or 0 for each in events if isinstance(each.fact, ModelChange))
    assert handed + 1 < changed, "a result is logged between the two"
    copies = [await session.fork(handed), await session.fork(handed + 1)]
    await session.edits.rewind(1)
    assert (session.state.speaker, session.state.model) == ("", "scripted")
    copies.append(await session.fork(changed))
    await session.close()
    for copy in copies:
        session = await Session.resume(made, copy)
        await session.submit("In a copy.")
        assert agents.spoke[-1] == ("reviewer", "other:model")
        await session.hand_to("main")
        assert session.state.model == "scripted"
        await session.close()
    made.store.close()


async def test_settings_that_change_between_a_transfer_and_its_request_do_not_hide_it(home: Path, folder: Path) -> None:
    agents = Agents({0: call("write_file", "w", path="a.txt", content="x")})
    made = made_with(home, folder, agents, ON_ANOTHER, other=True)

    class Busy(Unattended):
        async def approve(self, question: ApprovalQuestion) -> Approval:
            await session.hand_to("reviewer")
            await session.switcher.apply_settings(session.settings.but(agent_max_steps=7))
            return Approval(approved=True, by="user")

    made.questions = Busy()
    session = await Session.start(made, "scripted")
    await session.submit("Write.")
    assert agents.spoke == [("main", "scripted"), ("reviewer", "other:model")]
    await ended(made, session, home)


async def test_a_slash_commands_own_model_is_nobody_elses(home: Path, folder: Path) -> None:
    on_third = ON_ANOTHER.replace("name: reviewer", "name: second").replace("other:model", "third:model")
    files = {FILE: ON_ANOTHER, ".claude/agents/s.md": on_third}
    files[".claude/commands/thing.md"] = "---\nmodel: third:model\n---\nDo the thing."
    agents = Agents(hands_to("reviewer"), "R.", "M.", "R.", "R.", "M.", hands_to("second"))
    made = project(home, folder, files, *map(agents.model, ("scripted", "other:model", "third:model")))  # type: ignore[arg-type]
    session = await Session.start(made, "scripted")
    main, reviewer, command = ("main", "scripted"), ("reviewer", "other:model"), "third:model"
    await session.submit("/thing")
    await session.hand_to("main")
    await session.submit("As before.")
    assert agents.spoke == [("main", command), reviewer, main]
    await session.hand_to("reviewer")
    for prompt in ("/thing", "Go on."):
        await session.submit(prompt)
    await session.hand_to("main")
    await session.submit("As before.")
    assert agents.spoke[3:] == [("reviewer", command), reviewer, main]
    for prompt in ("/thing", "Go on."):
        await session.submit(prompt)
    await session.hand_to("main")
    await session.submit("As before.")
    assert agents.spoke[6:] == [("main", command), *[("reviewer", "third:model")] * 2, main]
    await ended(made, session, home)


async def test_a_main_model_that_cannot_be_asked_for_its_window_is_reported(
    home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = Agents()
    main = agents.model()
    made = project(home, folder, {FILE: ON_ANOTHER}, main, agents.model("other:model"))  # type: ignore[arg-type]
    session = await Session.start(made, "scripted")
    await session.hand_to("reviewer")
    main.closed = False

    async def fails() -> int:
        raise ConnectionError

    monkeypatch.setattr(main, "window_tokens", fails)
    await session.hand_to("main")
    (error,) = facts(stored_events(home, session.id), SessionError)
    assert error.outcome == "model not changed back" and main.closed
    await session.submit("Go on.")
    assert agents.spoke == [("main", "other:model")]
    await ended(made, session, home)


def test_it_does_not_count_in_the_log_of_another_user() -> None:
    assert undecided(AgentTransfer(from_="main", to="reviewer")) == AgentTransfer(from_="", to="")
