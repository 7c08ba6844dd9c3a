"""copilot: compaction in the background, the truncator of a request, events, checkpoints, replay, recovery."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from co_tui.events import (
    CompactionComplete,
    CompactionStart,
    CompactionWait,
    Message,
    SessionError,
    Truncation,
    UsageInfo,
)
from co_tui.paths import locate
from co_tui.session.approvals.questions import Unattended
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.settings import load
from tests.seeds.behaviours import says, shown_elsewhere
from tests.seeds.conversation import Conversation, conversing, roles, text
from tests.session.compaction.test_policies import under
from tests.support import provider_formats as formats
from tests.support.compacting import TOO_MUCH
from tests.support.loaded import LoadedProcesses
from tests.support.provider import Provider, Reply, count
from tests.support.stores import listed, replayed, stored_events
from tests.support.talks import GOOD, LONG, compactions, fill, talk, talking
from tests.support.waiting import PATIENCE_S, next_fact
from tests.support.wires import WIRES, Spoken
from tests.support.working import Working, working_in

MANUAL, AUTOMATIC, TRUNCATOR = "Manual /compact workflow", "Automatic background compaction", "BasicTruncator"
RETRY, REPLACEMENT, CHECKPOINTS = "Retry behavior", "Replacement history", "Checkpoints and session replay"
EVENTS, TRIGGERS, BOARD = "Events, telemetry, and UI status", "Other triggers", "Relationship to memory consolidation"
PROVIDER, FAILURE, BOUNDARY = "Provider-side signals", "Failure and cancellation", "Tool-call boundary safety"


async def _in_background(talking: Conversation, session: Session) -> None:
    talking.provider.window = 3_000
    await talk(session, 12, words=120)
    await session.settle(30)
    talking.notes["state"] = session.state


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversation]:
    """Twelve long turns in a small window."""
    with conversing(tmp_path_factory.mktemp("live"), "copilot", context_window=3_000) as talking:
        yield talking.have(_in_background)


@says("copilot", AUTOMATIC, "Compaction starts in the background at 80 % of the window, while the turn continues")
def test_it_starts_at_80_percent(live: Conversation) -> None:
    starts = live.facts(CompactionStart)
    assert starts and {start.trigger for start in starts} == {"background"}
    for start in starts:
        tokens = start.system_tokens + start.conversation_tokens + start.tool_definition_tokens
        assert tokens >= 0.8 * 3_000
    before = live.events[: next(n for n, event in enumerate(live.events) if isinstance(event.fact, CompactionStart))]
    readings = [event.fact.current_tokens for event in before if isinstance(event.fact, UsageInfo)]
    assert all(tokens < 0.8 * 3_000 for tokens in readings[:-1])


@says("copilot", AUTOMATIC, "A completed result is applied before the next request")
@says("copilot", CHECKPOINTS, "The durable change is `session.compaction_complete`: replay applies it")
def test_it_is_applied_before_the_next_request(live: Conversation) -> None:
    done = live.compactions[0]
    assert done.success and done.replaced and done.replacement
    first = next(sent for sent in live.requests if "[Earlier conversation, summarised]" in text(sent))
    assert done.summary in first[0]["content"] and "Question 1:" not in text(first[-3:])
    assert replayed(live.home, live.session_id).history == live.notes["state"].history


@says("copilot", EVENTS, "`session.compaction_start` has the tokens of system, conversation and tool definitions")
@says(
    "copilot",
    EVENTS,
    "`session.compaction_complete` has success, what was removed, summary, checkpoint, model, usage and duration",
)
def test_the_events_of_a_compaction(live: Conversation) -> None:
    start, done = live.facts(CompactionStart)[0], live.compactions[0]
    assert start.system_tokens > 0 and start.conversation_tokens > 0
    assert done.tokens_removed == done.pre_tokens - done.post_tokens > 0
    assert done.messages_removed == done.pre_messages - done.post_messages > 0
    assert done.summary and done.checkpoint_number == 1 and done.model and done.usage and done.duration_ms >= 0


@says(
    "copilot", EVENTS, "`session.usage_info` comes with every request, also when nothing was trimmed; `is_initial` once"
)
def test_usage_with_every_request(live: Conversation) -> None:
    readings = live.facts(UsageInfo)
    assert len(readings) >= len(live.requests) and [each.is_initial for each in readings].count(True) == 1
    assert readings[0].is_initial and all(each.token_limit == 3_000 for each in readings)
    assert all(each.system_tokens and each.messages_count for each in readings)


@says("copilot", EVENTS, "Summary requests carry the interaction type `conversation-compaction`")
def test_the_interaction_type(live: Conversation) -> None:
    """The provider tells summaries apart by that header alone."""
    assert live.provider.summary_requests and not any("tools" in asked for asked in live.provider.summary_requests)


@says("copilot", MANUAL, "The summariser gets the system context apart, and system messages are not summarised")
def test_the_system_context_is_apart(live: Conversation) -> None:
    system = live.provider.requests[0]["messages"][0]["content"]
    asked = live.provider.summary_requests[0]["messages"][-1]["content"]
    before, _, conversation = asked.partition("<conversation>")
    assert " ".join(system.split())[:100] in before and " ".join(system.split())[:100] not in conversation


@says(
    "copilot",
    CHECKPOINTS,
    "Each success writes `checkpoints/NNN-title.md`, `checkpoints/index.md` and `workspace.yaml`",
)
@says("copilot", CHECKPOINTS, "`/session checkpoints` lists them")
def test_checkpoints(live: Conversation) -> None:
    number = sum(done.success for done in live.compactions)
    first = Path(live.compactions[0].checkpoint_path)
    assert first.name.startswith("001-") and first.parent.name == "checkpoints"
    assert first.name in (first.parent / "index.md").read_text()
    assert f"summary_count: {number}" in (first.parents[1] / "workspace.yaml").read_text()
    said = live.command("run", "--resume", live.session_id, "-p", "/session checkpoints").out
    assert "Function talk" in said


@says("copilot", CHECKPOINTS, "A resumed session, in a new process too, has the history that the compaction left")
def test_resumed_in_a_new_process(live: Conversation, loaded: LoadedProcesses) -> None:
    history = [entry.message for entry in live.notes["state"].history]
    name = live.session_id
    assert [entry.message for entry in replayed(live.home, name).history] == history
    done = live.in_new_process(loaded, "run", "--resume", name, "-p", "And now?", CO_TUI_CONTEXT_WINDOW="100000")
    assert done.code == 0
    assert text(live.requests[-1]).count("[Earlier conversation, summarised]") == 1


async def _blocking(talking: Conversation, session: Session) -> None:
    await fill(session, 8, words=100)
    usage = session.state.usage
    assert usage is not None
    await session.switcher.apply_settings(session.settings.but(context_window=int(usage.current_tokens / 0.96)))
    await session.submit("and now?")


@says("copilot", AUTOMATIC, "At 95 % the request waits for the summary and is sent with it")
def test_at_95_percent_it_waits(tmp_path_factory: pytest.TempPathFactory) -> None:
    with conversing(tmp_path_factory.mktemp("waits"), "copilot") as talking:
        talking.have(_blocking)
        assert talking.facts(CompactionWait) or talking.facts(CompactionStart)[0].blocks
        assert talking.compactions[0].success and "[Earlier conversation, summarised]" in text(talking.requests[-1])


@says(
    "copilot",
    AUTOMATIC,
    "The thresholds are 0.8 (`COPILOT_BACKGROUND_COMPACTION_THRESHOLD`), 0.95 (`COPILOT_BUFFER_EXHAUSTION_THRESHOLD`) "
    "and 4 messages",
)
def test_the_thresholds(live: Conversation) -> None:
    def origin(name: str, **environ: str) -> tuple[object, str]:
        all_of_it = live.environ | environ
        loaded = load(paths=locate(all_of_it), cwd=live.folder, environ=all_of_it)
        assert not loaded.problems
        return loaded.origins[name]

    numbers = {
        "background_compaction_threshold": 0.8,
        "buffer_exhaustion_threshold": 0.95,
        "min_compaction_messages": 4,
    }
    assert {name: origin(name)[0] for name in numbers} == numbers
    for name, value in (("background_compaction_threshold", "0.7"), ("buffer_exhaustion_threshold", "0.9")):
        variable = f"COPILOT_{name.upper()}"
        assert origin(name, **{variable: value}) == (float(value), f"the environment ({variable})")
        assert origin(name, **{variable: value, f"CO_TUI_{name.upper()}": "0.85"}) == (0.85, "the environment")
        assert origin(name, CO_TUI_POLICY="off", **{variable: value})[0] != float(value)


def look() -> str:
    """Look at something."""
    return "seen " * 60


async def _truncates(talking: Conversation, session: Session) -> None:
    await fill(session, 3)
    talking.provider.script = [Reply(text="Let me", tool=("look", "{}"))]
    await talk(session, 1)
    talking.notes["fits"] = len(talking.requests)
    talking.notes["readings"] = len(session.state.transcript)
    await talk(session, 6)
    talking.notes["state"] = session.state


@pytest.fixture(scope="module")
def truncated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversation]:
    with conversing(tmp_path_factory.mktemp("truncated"), "copilot", max_prompt_tokens=1_500) as talking:
        yield talking.have(_truncates, tools=[look])


@says("copilot", TRUNCATOR, "`session.truncation` has tokens and messages before and after, and `BasicTruncator`")
def test_the_event_of_a_truncation(truncated: Conversation) -> None:
    done = truncated.facts(Truncation)
    assert done and {each.performed_by for each in done} == {"BasicTruncator"}
    for each in done:
        assert each.tokens_removed == each.pre_tokens - each.post_tokens > 0
        assert each.messages_removed == each.pre_messages - each.post_messages > 0


@says("copilot", TRUNCATOR, "It appears only when messages were removed")
def test_no_truncation_while_it_fits(truncated: Conversation) -> None:
    events = truncated.events
    first = next(n for n, event in enumerate(events) if isinstance(event.fact, Truncation))
    before = [event for event in events[:first] if isinstance(event.fact, UsageInfo)]
    assert len(before) >= truncated.notes["fits"]
    assert len(truncated.facts(Truncation)) < len(truncated.requests)


@says("copilot", TRUNCATOR, "The limit is `max_prompt_tokens`; it aims below the limit, not at it")
def test_requests_stay_below_the_limit(truncated: Conversation) -> None:
    assert max(count(request["messages"]) for request in truncated.provider.requests) <= 1_500 * 1.05
    assert all(each.post_tokens <= 1_500 * 0.96 for each in truncated.facts(Truncation))
    assert {each.token_limit for each in truncated.facts(UsageInfo)} == {100_000}, "the window is as it was"


@says("copilot", TRUNCATOR, "Older replies with their results go first, then older prompts; system messages stay")
@says("copilot", TRUNCATOR, "The latest user prompt stays")
def test_what_goes_first(truncated: Conversation) -> None:
    last, system = truncated.requests[-1], truncated.provider.requests[-1]["messages"][0]
    assert "Question 10:" in last[-1]["content"] and system == truncated.provider.requests[0]["messages"][0]
    first = next(sent for sent in truncated.requests if roles(sent)[:2] == ["user", "user"])
    assert "Question 1:" in first[0]["content"], "the prompt is still there when its reply is gone"


@says("copilot", BOUNDARY, "No result is sent without its call")
def test_pairs_are_whole(truncated: Conversation) -> None:
    assert [WIRES["chat"].broken_pairs(request) for request in truncated.provider.requests] == [[]] * len(
        truncated.requests
    )


@says("copilot", TRUNCATOR, "It changes the request, not the log, and replay ignores it")
@says(
    "copilot",
    TRUNCATOR,
    "Every request is truncated by itself",
    differs="what was left out stays out until the next compaction, so that the provider reads the rest from its cache",
)
def test_the_log_is_whole(truncated: Conversation) -> None:
    said = truncated.facts(Message)
    assert len(said) == 2 * 9 + 4
    assert len(replayed(truncated.home, truncated.session_id).history) == len(said)
    before = truncated.requests[-1]
    truncated.have(lambda _, session: session.submit("With more room?"), max_prompt_tokens=0)
    assert truncated.requests[-1][: len(before)] == before


@says("copilot", CHECKPOINTS, "Without checkpoints, `/session checkpoints` says when they are written")
def test_no_checkpoints_yet(truncated: Conversation) -> None:
    said = truncated.command("run", "--resume", truncated.session_id, "-p", "/session checkpoints")
    assert said.code == 0 and "compact" in said.out + said.err


async def _recovers(talking: Conversation, session: Session) -> None:
    await fill(session, 8, words=100)
    talking.provider.script = [TOO_MUCH]
    talking.notes["outcome"] = await session.submit("Can you hear me?")
    talking.notes["asked"] = len(talking.provider.summary_requests)


@pytest.fixture(scope="module")
def recovered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversation]:
    with conversing(tmp_path_factory.mktemp("recovered"), "copilot") as talking:
        yield talking.have(_recovers)


@says("copilot", RETRY, "HTTP 413 or a context-window error forces a compaction, and the request is sent again")
@says("copilot", TRIGGERS, "A provider's context-limit error forces a compaction")
def test_a_refusal_forces_a_compaction(recovered: Conversation) -> None:
    assert recovered.notes["outcome"] is Outcome.DONE and recovered.notes["asked"] >= 1
    assert recovered.facts(SessionError)[0].kind == "context_limit"
    assert recovered.compactions[0].trigger == "context_limit" and recovered.compactions[0].success


async def _on_demand(talking: Conversation, session: Session) -> None:
    with pytest.raises(CompactionRefused) as nothing:
        await session.compact()
    talking.notes["nothing"] = str(nothing.value)
    await session.submit("A long text: " + "word " * 2_000)
    await fill(session, 5)
    first = asyncio.create_task(session.compact())
    await asyncio.sleep(0)
    with pytest.raises(CompactionRefused) as second:
        await session.compact()
    talking.notes["second"] = str(second.value)
    talking.notes["done"] = await first
    await session.submit("and now?")
    talking.notes["after"] = talking.requests[-1]
    talking.provider.summary = Reply(text="  ")
    await fill(session, 4)
    talking.notes["empty"] = await session.compact()
    talking.provider.summary = Reply(status=401, body='{"error": {"message": "no key"}}')
    talking.notes["refused"] = await session.compact()


@pytest.fixture(scope="module")
def on_demand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversation]:
    with conversing(tmp_path_factory.mktemp("demand"), "copilot") as talking:
        yield talking.have(_on_demand)


@says(
    "copilot", MANUAL, "It needs at least two messages and a session that has built its prompt; else a sentence says so"
)
@says("copilot", MANUAL, "A second one is rejected while one is running")
def test_the_guards(on_demand: Conversation) -> None:
    assert "othing to compact" in on_demand.notes["nothing"] and on_demand.notes["second"]


@says("copilot", MANUAL, "`/compact` returns messages and tokens removed")
def test_on_demand(on_demand: Conversation) -> None:
    done = on_demand.notes["done"]
    assert done.success and done.trigger == "manual" and done.messages_removed > 0 and done.tokens_removed > 0
    assert f"{done.pre_tokens:,} → {done.post_tokens:,} tokens" in done.outcome_sentence()


@says("copilot", REPLACEMENT, "The replacement has the summary, then the user's own messages, clipped with a marker")
def test_the_users_messages_are_quoted(on_demand: Conversation) -> None:
    summary, under_way = (message["content"] for message in on_demand.notes["after"][:2])
    assert summary.startswith(f"[Earlier conversation, summarised]\n{on_demand.notes['done'].summary}")
    assert under_way.startswith("[What is under way]\n") and "## What the user said\n- A long text: word" in under_way
    assert "more characters…]" in under_way and "- Question 3: what about function_3?" in under_way


@says("copilot", FAILURE, "An empty summary is a failure")
def test_an_empty_summary(on_demand: Conversation) -> None:
    done = on_demand.notes["empty"]
    assert not done.success and not done.replaced and "empty" in done.error


@says("copilot", MANUAL, "It needs a model that can be reached with its key; else a sentence says so")
def test_a_refused_key(on_demand: Conversation) -> None:
    done = on_demand.notes["refused"]
    assert not done.success and not done.replaced and "asks for a key" in done.error


# What providers compact by themselves


def _compaction_on(wire: str) -> Reply:
    """A reply with a provider's own compaction, as that wire streams it."""
    plain = WIRES[wire].write("Hello.", ())
    block = formats.events(
        {"type": "content_block_start", "index": 1, "content_block": {"type": "compaction", "content": None}},
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "compaction_delta", "content": "What was said, as the provider sees it."},
        },
        {"type": "content_block_stop", "index": 1},
    )
    at = plain.index(b"event: message_delta")
    return Reply(raw=(plain[:at] + block + plain[at:],))


def _signal(event: dict[str, object]) -> Reply:
    plain = WIRES["anthropic"].write("Hello.", ())
    at = plain.index(b"event: message_delta")
    return Reply(raw=(plain[:at] + formats.events(event) + plain[at:],))


CONTROL = {
    "type": "message_delta",
    "delta": {"stop_reason": None, "stop_sequence": None},
    "usage": {"output_tokens": 1},
    "context_management": {"applied_edits": [{"type": "compact_20260112"}]},
}


@pytest.mark.parametrize(
    ("reply", "summary", "note"),
    [
        (_compaction_on("anthropic"), "What was said, as the provider sees it.", ""),
        (
            _signal({"type": "agent.thread_context_compacted", "id": "e1", "processed_at": "2026-01-01T00:00:00Z"}),
            "",
            "reported as agent.thread_context_compacted",
        ),
        (_signal(CONTROL), "", "reported as compact_20260112"),
    ],
    ids=["compaction_delta", "agent.thread_context_compacted", "compaction control"],
)
@says(
    "copilot",
    PROVIDER,
    "A provider's own compaction is shown as such: `compaction_delta`, `agent.thread_context_compacted`, an edit by "
    "Anthropic's compaction control",
    "It does not replace the local compaction: the history is unchanged, and sent whole",
)
def test_a_provider_compacts(tmp_path: Path, provider: Provider, reply: Reply, summary: str, note: str) -> None:
    wire = WIRES["anthropic"]
    talking = Conversation(tmp_path, "copilot", provider)
    provider.script = [
        Spoken("First.", thoughts=()).on("anthropic"),
        reply,
        Spoken("Third.", thoughts=()).on("anthropic"),
    ]
    environ = wire.environ(provider)
    for n in range(3):
        again = ["--continue"] if n else []
        assert talking.command("run", *again, "-p", f"Question {n}.", **environ).code == 0
    (row,) = listed(talking.home)
    events = stored_events(talking.home, row.id)
    (done,) = [event.fact for event in events if isinstance(event.fact, CompactionComplete)]
    assert (done.trigger, done.success, done.replaced) == ("provider", True, ())
    assert (done.summary, done.note, done.summarised_by) == (summary, note, "anthropic")
    assert done.outcome_sentence() == "Conversation Compacted by anthropic itself."
    sent = provider.requests[-1]["messages"]
    assert roles(sent) == ["user", "assistant", "user", "assistant", "user"] and "compaction" not in text(sent)


for where, test, *sentences in (
    (MANUAL, "session/compaction/test_compaction.py::"
     "test_cancelling_closes_the_connection_at_once_and_changes_nothing",
     "A manual compaction can be cancelled; nothing changes, and the event says cancelled"),
    (MANUAL, "session/compaction/test_background_compaction.py::test_hooks_see_the_trigger_and_may_add_focus",
     "`preCompact` hooks run before it, with the trigger"),
    (AUTOMATIC, "seeds/test_boundaries.py::test_copilot_g3d_needs_four_messages",
     "With fewer than 4 messages nothing is compacted"),
    (FAILURE, "session/compaction/test_background_compaction.py::"
     "test_a_background_failure_is_an_event_and_not_tried_again_at_once",
     "A failed compaction in the background is an event, and the session continues"),
    (FAILURE, "session/compaction/test_background_compaction.py::"
     "test_clearing_switching_and_rewinding_discard_what_runs",
     "A cancelled result is discarded"),
    (RETRY, "session/compaction/test_recovery.py::"
     "test_a_request_that_is_too_long_is_shortened_and_sent_again",
     "A limit that the provider names becomes the limit of the model, and is kept"),
    (RETRY, "session/compaction/test_recovery.py::test_each_refusal_brings_the_next_layer",
     "Without a named limit the buffer grows with each refusal, up to a maximum"),
    (TRIGGERS, "session/compaction/test_compaction_triggers.py::"
     "test_switching_to_a_smaller_window_asks_then_compacts_with_the_old_model",
     "Switching to a model with a smaller window asks, then compacts, then switches"),
    (TRIGGERS, "session/compaction/test_compaction_triggers.py::test_memory_pressure_compacts",
     "Memory pressure compacts, after collecting garbage"),
    (REPLACEMENT, "seeds/test_rows.py::test_c5_a_compaction_carries_the_plan_and_the_instructions_of_skills",
     "The replacement carries the plan, the todo list, and the skills in use with their instructions"),
    (REPLACEMENT, "session/compaction/test_background_compaction.py::"
     "test_what_was_said_meanwhile_follows_word_for_word",
     "Messages that arrived after the boundary follow word for word"),
    (BOUNDARY, "context/request/test_pipeline.py::test_every_policy_keeps_the_invariants",
     "The boundary never splits a call from its result"),
    (TRUNCATOR, "seeds/test_boundaries.py::test_numbers_that_are_no_setting",
     "Without a known limit, 128,000 tokens are assumed"),
    (TRUNCATOR, "context/request/test_repair.py::test_a_trailing_orphan_is_dropped",
     "Trailing results without a call go even when the request fits"),
    (CHECKPOINTS, "session/compaction/test_checkpoint_files.py::"
     "test_undo_and_rewind_keep_the_checkpoint_files_in_line_with_the_history",
     "Rewinding keeps the checkpoint files in line with the history"),
    (EVENTS, "session/compaction/test_telemetry.py::test_a_compaction_is_one_span_with_its_start_and_its_end",
     "Start and completion are telemetry: tokens and messages removed, checkpoint, model, duration, request id"),
    (EVENTS, "ui/compaction/test_compaction.py::test_escape_cancels_what_is_running_and_else_it_says_what_happened",
     "`Compacting conversation history` shows while a manual or blocking one runs, `Conversation Compacted` after it"),
    (BOARD, "session/test_board.py::test_a_run_adds_and_prunes_is_logged_and_can_be_undone",
     "Consolidation is apart: `/subconscious run` changes the context board of a repository and branch"),
):  # fmt: skip
    shown_elsewhere("copilot", where, test, *sentences)
shown_elsewhere(
    "copilot",
    FAILURE,
    "headless/test_host.py::test_the_work_is_done_there_and_the_session_is_resumed_there",
    "Remote sessions refuse to compact",
    differs="a session on another host has its log here, and is compacted like any other",
)


@says("copilot", FAILURE, "A failed compaction in the background is a failed event, and changes nothing")
@pytest.mark.parametrize("reply", [Reply(status=400, body='{"error": {"message": "no"}}'), Reply(text="  ")], ids=str)
async def test_a_background_compaction_that_fails(home: Path, provider: Provider, reply: Reply) -> None:
    provider.default, provider.summary, provider.window = LONG, reply, 3_000
    async with talking(home, provider, **under("copilot")) as session:
        while not (failed := compactions(session.state)):
            before = list(session.state.history)
            await talk(session, 1)
            await session.settle(PATIENCE_S)
        assert (failed[0].success, failed[0].trigger, failed[0].replaced) == (False, "background", ())
        assert failed[0].error and not failed[0].summary and failed[0].pre_tokens == failed[0].post_tokens
        assert list(session.state.history)[: len(before)] == before
        await talk(session, 1)


async def test_a_model_with_one_slot_is_not_asked_and_has_not_failed(home: Path, provider: Provider) -> None:
    provider.default, provider.summary, provider.window = LONG, GOOD, 3_000
    async with talking(home, provider, **under("copilot")) as session:
        session._runtime.model_handle.one_at_a_time = True
        while not compactions(session.state):
            await talk(session, 1, words=120)
        assert all(done.success for done in compactions(session.state)) and not provider.summary_requests


@says(
    "copilot", TRIGGERS, "After the compaction for another model, usage is measured with everything that will be sent"
)
async def test_usage_after_a_switch_counts_all_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    large, small = Working(window=60_000), Working(window=9_000)
    small.name = "small"
    environment = working_in(folder, tmp_path / "home", large, Unattended(yes=True))
    environment.settings = environment.settings.but(**under("copilot"))
    handles = {"scripted": large, "small": small}

    async def open_model(name: str) -> Working:
        return handles[name]

    environment.open_model = open_model
    session = await Session.start(environment, "scripted")
    for _ in range(6):
        await session.submit("Some words about this and that, and more. " * 120)
    await session.switcher.switch_model("small", compact=True)
    assert compactions(session.state)[-1].trigger == "model_switch" and session.state.usage is not None
    shown = session.state.usage
    listener = session.events()
    await session.submit("And now?")
    sent = await next_fact(listener, UsageInfo)
    assert shown.tool_definition_tokens == sent.tool_definition_tokens > 500
    assert shown.system_tokens == sent.system_tokens
    assert abs(shown.current_tokens - sent.current_tokens) < 60, "only the prompt came"
    await session.close()
    environment.store.close()


shown_elsewhere(
    "copilot",
    FAILURE,
    "context/compact/test_summary_checks.py::test_other_objections",
    "Other summaries than empty ones are used",
    differs="one that is no shorter, repeats one phrase or speaks of something else is a failure, too: small models "
    "write such ones, and the conversation would be lost for them",
)
shown_elsewhere(
    "copilot",
    REPLACEMENT,
    "session/turns/test_transfers.py::test_the_model_hands_over_and_the_agent_hands_back",
    "The replacement carries a summary of the active custom agent",
    differs="an agent that the conversation was handed to brings its instructions with every request, and delegates "
    "at work are listed with their tasks",
)
shown_elsewhere(
    "copilot",
    BOARD,
    "headless/test_subconscious.py::test_a_session_that_is_left_teaches_by_itself_and_no_one_waits",
    "A session that is left is consolidated by itself, in a process of its own",
    differs='only with `board_updates = "on"`: it asks a model, which costs money',
)
