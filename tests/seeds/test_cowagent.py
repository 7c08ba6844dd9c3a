"""cowagent: turns and a token budget, long results, overflow, what a restart brings back, its commands."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from co_tui.cli.command_call import SERVED_DRIVER
from co_tui.events import MemoryWritten, RequestBilled, SessionError, Truncation
from co_tui.session.launch import Launch
from co_tui.session.session import Session
from co_tui.session.state.derive import replay
from co_tui.session.turns.turn import Outcome
from tests.seeds.behaviours import says, shown_elsewhere
from tests.seeds.conversation import Conversation, conversation_of, conversing, results, roles, text
from tests.session.compaction.test_policies import under
from tests.support.compacting import TOO_MUCH
from tests.support.loaded import LoadedProcesses
from tests.support.provider import Provider, Reply, count
from tests.support.stores import store_in, stored_events
from tests.support.talks import GOOD, LONG, MODEL, compactions, fill, served_environment, talk
from tests.support.waiting import PATIENCE_S, until

LONG_RESULTS, TURNS, BUDGET = "Tool Result Truncation", "Turn Trimming", "Token Budget Trimming"
OVERFLOW, PERSISTENCE, COMMANDS, CONFIG = "Overflow Emergency", "Session Persistence", "Commands", "Key Configuration"
EARLIER = "[Earlier conversation, summarised]"
RESULT = "a" * 15_000 + "b" * 15_000


def look() -> str:
    """Look at something long."""
    return RESULT


async def _over_twenty(talking: Conversation, session: Session) -> None:
    provider = talking.provider
    provider.script = [Reply(text="Let me", tool=("look", "{}"))]
    await talk(session, 1)
    await talk(session, 1)
    await fill(session, 18)
    talking.notes["at 20"] = len(talking.requests) - 1
    await talk(session, 1)
    await session.settle(30)
    provider.script = [Reply(text="Once more", tool=("look", "{}"))]
    await talk(session, 1)
    talking.notes["state"] = session.state


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversation]:
    """22 turns, the first and the last with a tool; the 21st is over the limit."""
    with conversing(tmp_path_factory.mktemp("live"), "cowagent") as talking:
        yield talking.have(_over_twenty, tools=[look])


@says("cowagent", LONG_RESULTS, "Results of the current turn are whole")
def test_the_current_turn_is_whole(live: Conversation) -> None:
    assert results(live.requests[1]) == [RESULT] and results(live.requests[-1])[-1] == RESULT


@says("cowagent", LONG_RESULTS, "Over 20,000 characters, a result of an earlier turn keeps both ends, with a notice")
def test_long_results_keep_both_ends(live: Conversation) -> None:
    (cut,) = results(live.requests[2])
    assert len(cut) <= 20_000 and cut[:9_000] == "a" * 9_000 and cut[-9_000:] == "b" * 9_000 and "left out" in cut


@says("cowagent", TURNS, "Up to 20 turns all of them stay")
def test_twenty_turns_stay(live: Conversation) -> None:
    sent = live.requests[live.notes["at 20"]]
    assert roles(sent).count("user") == 20 and EARLIER not in text(sent)


@says("cowagent", TURNS, "Above 20, the oldest half goes at once, whole turns with their calls and results")
def test_half_of_the_turns_is_left(live: Conversation) -> None:
    sent = live.requests[live.notes["at 20"] + 1]
    assert roles(sent) == ["user", "assistant"] * 10 + ["user"] and EARLIER not in text(sent)
    assert "Question 11:" in sent[0]["content"] and "Question 10:" not in text(sent)
    assert {(done.trigger, done.success) for done in live.compactions} == {("turns", True)}


@says(
    "cowagent",
    TURNS,
    "The summary is written in the background, and joins the first user message that is kept",
    "It takes effect from the next turn on",
)
def test_one_first_message(live: Conversation) -> None:
    dropped, done = live.compactions
    assert done.supersedes and [each.what for each in live.facts(RequestBilled)].count("summary") == 1
    assert dropped.outcome_sentence().endswith("22 messages left, their summary follows.")
    first = live.requests[live.notes["at 20"] + 2][0]
    assert first["role"] == "user" and first["content"].startswith(f"{EARLIER}\n{done.summary}\n")
    assert first["content"].rstrip().endswith("more words") and "\n\nQuestion 11: what about" in first["content"]


@says("cowagent", TURNS, "The same summary is written to the daily memory file")
def test_the_daily_memory(live: Conversation) -> None:
    _, done = live.compactions
    (written,) = live.facts(MemoryWritten)
    file = Path(written.where)
    assert file.parent.name == "memory" and "was answered" in done.summary
    assert "The question about src/module.py and the function was answered." in file.read_text(encoding="utf-8")


@says("cowagent", PERSISTENCE, "A restart restores the last `max(3, turns // 6)` turns, user text and final reply only")
@says(
    "cowagent",
    PERSISTENCE,
    "Nothing else is restored",
    differs="system messages, rules that the user gave and the latest summary come along: without them work would be "
    "redone and rules broken",
)
def test_restored_in_a_new_process(live: Conversation, loaded: LoadedProcesses) -> None:
    assert live.in_new_process(loaded, "run", "--resume", live.session_id, "-p", "And now?").code == 0
    sent = live.requests[-1]
    assert roles(sent) == ["user", "assistant"] * 3 + ["user"]
    assert sent[0]["content"].startswith(EARLIER) and "Question 20:" in sent[0]["content"]
    assert "Question 22:" in sent[4]["content"] and "Once more" not in text(sent) and "And now?" in text(sent[-1])


@says("cowagent", TURNS, "A slow summary holds nothing back: until it is ready, requests go without the oldest half")
async def test_a_slow_summary(tmp_path: Path) -> None:
    written = threading.Event()
    with Provider().serving() as provider:
        provider.default, provider.window = LONG, 100_000
        provider.summary = Reply(text=GOOD.text, until=written)
        session = await Session.start(served_environment(tmp_path, provider, **under("cowagent")), MODEL)
        await talk(session, 25)
        sent = [roles(conversation_of(request)).count("user") for request in provider.requests]
        assert sent == [*range(1, 21), 11, 12, 13, 14, 15]
        written.set()
        await session.settle(PATIENCE_S)
        await talk(session, 1)
        assert conversation_of(provider.requests[-1])[0]["content"].startswith(EARLIER)
        await session.close()


@asynccontextmanager
async def _while_summarised(home: Path) -> AsyncIterator[tuple[Provider, Session]]:
    """A session whose oldest half has left, and whose summary never comes."""
    with Provider().serving() as provider:
        provider.default, provider.window = LONG, 100_000
        provider.summary = Reply(text=GOOD.text, until=threading.Event())
        environment = served_environment(home, provider, **under("cowagent"))
        session = await Session.start(environment, MODEL)
        await talk(session, 21)
        await until(lambda: provider.summary_requests)
        try:
            yield provider, session
        finally:
            if not session.state.ended:
                await session.close()
            environment.store.close()


@says(
    "cowagent",
    TURNS,
    "Whatever interrupts its summary, an extract of what was trimmed joins, and is in the daily memory",
)
@pytest.mark.parametrize("interrupts", ["leaving", "rewinding", "clearing", "settings", "a second trim", "a failure"])
async def test_a_summary_that_never_comes(tmp_path: Path, interrupts: str) -> None:
    async with _while_summarised(tmp_path) as (provider, session):
        match interrupts:
            case "leaving":
                await session.close()
            case "rewinding":
                await session.edits.rewind(21)
            case "clearing":
                await session.edits.clear()
            case "settings":
                await session.switcher.apply_settings(session.settings.but(command_timeout_s=60.0))
            case "a second trim":
                await talk(session, 10)
            case _:
                provider.summary = Reply(status=400)
                session._compactor.stop()
        await until(lambda: len(compactions(session.state)) >= 2)
    dropped, joined, *_ = compactions(session.state)
    assert dropped.summary_follows and (joined.success, joined.summarised_by) == (True, "offline")
    assert joined.outcome_sentence().endswith("20 messages summarised as a work journal.")
    log = stored_events(tmp_path, session.id)
    assert "Question 1:" in text([event.fact.message for event in log if event.type == "message"])
    written, *_ = (event.fact for event in log if isinstance(event.fact, MemoryWritten))
    assert "function_1" in await asyncio.to_thread(Path(written.where).read_text)
    assert replay(log).history == session.state.history


async def test_one_undo_brings_back_what_left_before_its_summary(tmp_path: Path) -> None:
    async with _while_summarised(tmp_path) as (provider, session):
        provider.summaries = [GOOD]
        session._compactor.stop()
        await until(lambda: len(compactions(session.state)) == 2)
        await session.edits.undo()
        assert len(session.state.history) == len(session.state.transcript) == 42
        assert replay(stored_events(tmp_path, session.id)).history == session.state.history


async def _over_budget(talking: Conversation, session: Session) -> None:
    await talk(session, 10, words=120)


@says("cowagent", BUDGET, "Over the token budget with 5 turns or more, the first half goes, into memory and a summary")
def test_the_budget_with_many_turns(tmp_path_factory: pytest.TempPathFactory) -> None:
    with conversing(tmp_path_factory.mktemp("budget"), "cowagent", agent_max_context_tokens=2_000) as talking:
        talking.have(_over_budget)
        assert {(done.trigger, done.success) for done in talking.compactions} == {("budget", True)}
        assert talking.facts(MemoryWritten) and not talking.facts(Truncation)
        assert max(count(request["messages"]) for request in talking.provider.requests) <= 2_000 * 1.1
        first = next(sent for sent in talking.requests if EARLIER in text(sent))
        assert first[0]["content"].startswith(EARLIER) and roles(first).count("user") < 6


async def _few_turns(talking: Conversation, session: Session) -> None:
    talking.provider.script = [Reply(text="Let me", tool=("look", "{}"))]
    await talk(session, 1)
    await session.submit("And more?")


@says(
    "cowagent",
    BUDGET,
    "With fewer than 5 turns each keeps its first user text and its last reply, without the calls between them",
)
def test_the_budget_with_few_turns(tmp_path_factory: pytest.TempPathFactory) -> None:
    with conversing(tmp_path_factory.mktemp("few"), "cowagent", agent_max_context_tokens=2_000) as talking:
        talking.have(_few_turns, tools=[look])
        assert roles(talking.requests[-1]) == ["user", "assistant", "user"]
        assert (
            talking.requests[-1][1]["content"].startswith("An answer about") and not talking.provider.summary_requests
        )


async def _overflows(talking: Conversation, session: Session) -> None:
    await session.submit("A long text: " + "word " * 4_000)
    await fill(session, 8)
    talking.provider.script = [TOO_MUCH] * 3
    talking.notes["outcome"] = await session.submit("Can you hear me?")
    talking.notes["emergency"] = talking.requests[-1]
    talking.provider.script = [TOO_MUCH] * 4
    await session.submit("And now?")
    talking.notes["cleared"] = talking.requests[-1]
    talking.provider.script = []
    await talk(session, 1)


@pytest.fixture(scope="module")
def overflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversation]:
    with conversing(tmp_path_factory.mktemp("overflow"), "cowagent") as talking:
        yield talking.have(_overflows)


@says("cowagent", OVERFLOW, "After an overflow error the messages are summarised into the daily memory")
@says(
    "cowagent",
    OVERFLOW,
    "Results and user texts are then limited to 10,000 characters, and 5 turns are left",
    differs="a forced compaction and a smaller budget are tried first: they lose less, and the prompt is never lost",
)
def test_the_emergency(overflow: Conversation) -> None:
    told = [error.outcome for error in overflow.facts(SessionError)]
    assert [any(word in outcome for outcome in told) for word in ("compact", "retrying", "kept ")] == [True] * 3, told
    assert overflow.notes["outcome"] is Outcome.DONE and overflow.facts(MemoryWritten)
    sent = overflow.notes["emergency"]
    assert roles(sent).count("user") <= 6 and max(len(str(message["content"])) for message in sent) <= 11_000
    assert "Can you hear me?" in text(sent)


@says("cowagent", OVERFLOW, "If it still overflows, the context is cleared")
def test_the_last_resort(overflow: Conversation) -> None:
    assert any("cleared the context" in error.outcome for error in overflow.facts(SessionError))
    assert roles(overflow.notes["cleared"])[-1] == "user" and "And now?" in text(overflow.notes["cleared"])


async def _steps(talking: Conversation, session: Session) -> None:
    talking.provider.default = Reply(text="Let me", tool=("tick", "{}"))
    talking.notes["outcome"] = await session.submit("Go on.")


@says("cowagent", CONFIG, "`agent_max_steps`: a turn has at most 15 decisions")
def test_fifteen_steps(tmp_path_factory: pytest.TempPathFactory) -> None:
    ticks = iter(range(100))

    def tick() -> str:
        """Count."""
        return f"tick {next(ticks)}"

    with conversing(tmp_path_factory.mktemp("steps"), "cowagent") as talking:
        talking.have(_steps, tools=[tick])
        assert len(talking.requests) == 15 and "tick 14" in text([event.fact.message for event in talking.events
                                                                 if event.type == "message"])  # fmt: skip


@says("cowagent", COMMANDS, "`/context` shows messages, roles and characters")
@says("cowagent", COMMANDS, "`/context clear` forgets the conversation; what is in memory stays")
@says("cowagent", COMMANDS, "`/config agent_max_context_tokens 80000` and `/config agent_max_context_turns 30`")
@says("cowagent", CONFIG, "`agent_max_context_tokens` is 50,000, `agent_max_context_turns` 20")
def test_the_commands_headless(overflow: Conversation) -> None:
    def run(prompt: str) -> str:
        done = overflow.command("run", "--resume", overflow.session_id, "-p", prompt)
        assert done.code == 0
        return done.out

    said = run("/context")
    assert "messages " in said and "user " in said and "assistant " in said and "characters " in said
    for name, default, value in (
        ("agent_max_context_tokens", "50000", "80000"),
        ("agent_max_context_turns", "20", "30"),
    ):
        assert overflow.command("config", name).out.split()[3:5] == [name, default]
        run(f"/config {name} {value}")
        assert overflow.command("config", name).out.split()[3:5] == [name, value]
    memory = {file: file.read_text() for file in overflow.home.rglob("memory/*.md")}
    run("/context clear")
    run("Who are you?")
    (alone,) = overflow.requests[-1]
    assert "Who are you?" in text(alone)
    assert memory and memory == {file: file.read_text() for file in memory}


@says(
    "cowagent",
    PERSISTENCE,
    "The latest session is restored by itself at start: this folder's, if no other program has it open",
)
def test_the_latest_session_at_start(overflow: Conversation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started: list[Launch] = []

    def start(launch: Launch) -> int:
        started.append(launch)
        launch.store.close()
        return 0

    monkeypatch.setattr("co_tui.ui.start.start", start)

    def opened(*arguments: str, **environ: str) -> tuple[str, bool]:
        assert overflow.command(*arguments, TEXTUAL_DRIVER=SERVED_DRIVER, **environ).code == 0
        return started[-1].session_id, started[-1].is_restored

    here = overflow.session_id
    assert opened() == (here, True)
    assert opened(CO_TUI_POLICY="copilot") == ("", False)
    assert opened("--resume", here) == (here, False) and opened("--private") == ("", False)
    with store_in(overflow.home) as store:
        claimed = store.claim(here)
        try:
            assert opened() == ("", False), "it is open elsewhere"
        finally:
            claimed.release()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    overflow.folder, folder = elsewhere, overflow.folder
    assert opened() == ("", False), "it is of another folder"
    overflow.folder = folder


shown_elsewhere(
    "cowagent",
    PERSISTENCE,
    "store/test_housekeeping.py::test_a_policys_own_retention_is_for_its_own_sessions",
    "Sessions older than 30 days are cleaned up",
    differs="they go to the trash, from where they can be restored for another 30 days; pinned and open ones stay",
)
shown_elsewhere(
    "cowagent",
    COMMANDS,
    "session/compaction/test_daily_memory.py::test_the_model_searches_what_earlier_sessions_left",
    "What was written to memory can be found again by searching it",
)
shown_elsewhere(
    "cowagent",
    BUDGET,
    "seeds/test_boundaries.py::test_cowagent_g3f_turns_and_budget_go_in_one_pass",
    "The budget is looked at after the turns were trimmed, in the same pass",
)
shown_elsewhere(
    "cowagent",
    CONFIG,
    "ui/test_commands.py::test_history_context_and_config",
    "Numbers are set in `config.json`",
    differs="in `config.toml`, which has comments",
)
shown_elsewhere(
    "cowagent",
    BUDGET,
    "seeds/test_cowagent.py::test_the_budget_with_few_turns",
    "Fewer than 5 turns whose own texts are over the budget are sent as they are",
)
