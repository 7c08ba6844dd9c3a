"""The invariants, after every stage and after the whole pipeline, for every policy, at every window."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from co_tui.context.compact.replacement import Digest, build, first_and_last_texts
from co_tui.context.compact.thresholds import run_threshold
from co_tui.context.indexed_history import Cut, IndexedHistory
from co_tui.context.measure.count import Scaffold, Window
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import SummaryForm, policy_of
from co_tui.context.request.pipeline import Governor
from co_tui.context.request.repair import INTERRUPTED, repair
from co_tui.context.request.tool_outputs import keep_ends, trim
from co_tui.context.request.truncate import truncate
from co_tui.events.triggers import Trigger
from co_tui.lab.check import breaches
from co_tui.paths import locate
from co_tui.sendable_reply import sendable
from co_tui.settings import Settings, load
from tests.support.governed import Governed
from tests.support.histories import histories, paired_histories, pins_on
from tests.support.long_run import also_in_a_long_run, drawn

PEERS = ("claude-code", "cline", "codex", "gemini-cli", "letta", "opencode", "openhands")
POLICIES = ("balanced", "off", "co-cli", "inkeep", "copilot", "cowagent", *PEERS)
EXAMPLES = drawn(20)


def policy(name: str) -> Settings:
    return load(paths=locate({"CO_TUI_HOME": "/nonexistent"}), cwd=Path("/"), environ={"CO_TUI_POLICY": name}).settings


LOADED = {name: policy(name) for name in POLICIES}


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories, st.sampled_from(POLICIES), st.sampled_from([4_000, 16_000, 1_000_000]))
def test_a_growing_history_gives_the_same_requests_as_one_looked_at_anew(history, name, window) -> None:
    growing = Governor(policy_of(LOADED[name]), Window(tokens=window, known=True))
    live: list = []
    lineage, given_out = object(), []
    for message in history:
        live.append(message)
        if isinstance(message, ModelRequest):
            anew = Governor(policy_of(LOADED[name]), Window(tokens=window, known=True))
            fast, slow = growing.measure(live, Scaffold(), lineage), anew.measure(live, Scaffold())
            assert fast == slow
            assert growing.fit(fast, Scaffold()) == anew.fit(slow, Scaffold())
            given_out.append((fast, tuple(fast.live), [*fast.origins], [*fast.request]))
    for measured, messages, origins, request in given_out:
        assert (measured.live, measured.origins, measured.request) == (messages, origins, request), "a value stays"


def smallest(messages) -> bool:
    """Only what no stage may remove is left."""
    return IndexedHistory(messages).kept_by_rule() == set(range(len(messages)))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories, st.sampled_from(POLICIES), st.sampled_from([1_000, 4_000, 16_000, 128_000, 1_000_000]))
def test_every_policy_keeps_the_invariants(history, name, window) -> None:
    before = ModelMessagesTypeAdapter.dump_json(history)
    governor = Governed(LOADED[name], window)
    live = []
    for message in history:
        live.append(message)
        if isinstance(message, ModelRequest):
            prepared = governor.prepare(live)
            fits = prepared.overshoot_tokens == 0 or name == "off" or smallest(prepared.messages)
            assert breaches(repair(live), prepared.messages, fits=fits) == []
            live = list(prepared.history)
    assert ModelMessagesTypeAdapter.dump_json(history) == before


@settings(max_examples=EXAMPLES, deadline=None)
@given(histories, st.sampled_from([10, 500, 2000]))
def test_tool_output_stages_are_idempotent_and_keep_pairs(history, limit) -> None:
    history = repair(history)
    for stage in (trim, keep_ends):
        once = stage(history, limit)
        assert stage(once, limit) == once
        assert breaches(history, once, fits=True) == [] and len(once) == len(history)


@settings(max_examples=EXAMPLES, deadline=None)
@given(histories, st.integers(50, 20_000))
def test_the_truncator_fits_or_says_that_nothing_more_can_go(history, room) -> None:
    history = repair(history)
    meter = Meter()
    cut = truncate(history, room, meter.tokens)
    assert breaches(history, cut.messages, fits=cut.fits or smallest(cut.messages)) == []
    assert cut.fits == (sum(map(meter.tokens, cut.messages)) <= room)
    again = truncate(cut.messages, room, meter.tokens)
    assert not cut.fits or again.messages == cut.messages


def talk(turns: int, result: str = "") -> list:
    messages = []
    for n in range(turns):
        messages.append(ModelRequest(parts=[UserPromptPart(f"question {n}")]))
        if result:
            messages.append(ModelResponse(parts=[ToolCallPart("read", {"n": n}, f"c{n}")]))
            messages.append(ModelRequest(parts=[ToolReturnPart("read", result, f"c{n}")]))
        messages.append(ModelResponse(parts=[TextPart(f"answer {n}")]))
    return messages


def wordy(turns: int) -> list:
    """Long enough for a summary to be shorter."""
    more = " more words" * 100
    return [
        message
        for n in range(turns)
        for message in (
            ModelRequest(parts=[UserPromptPart(f"question {n}{more}")]),
            ModelResponse(parts=[TextPart(f"answer {n}")]),
        )
    ]


def asked(messages: list, prompt: str = "and now?") -> list:
    return [*messages, ModelRequest(parts=[UserPromptPart(prompt)])]


def prepared(name: str, history: list, window: int = 128_000, **changes):
    return Governed(LOADED[name].but(**changes), window).prepare(history)


def test_co_cli_trims_old_results_with_its_marker() -> None:
    long = "r" * 2500
    request = prepared("co-cli", asked(talk(3, long))).messages
    contents = [part.content for m in request for part in m.parts if isinstance(part, ToolReturnPart)]
    assert contents == ["r" * 2000 + "\n[…truncated, 2500 chars total]"] * 3
    recent = prepared("co-cli", talk(2, long)[:-1]).messages[-1].parts[0]
    assert recent.content == long, "the last two messages are untouched"
    off = prepared("co-cli", asked(talk(3, long)), tool_output_trim_chars=0).messages
    assert all(part.content == long for m in off for part in m.parts if isinstance(part, ToolReturnPart))


def test_co_cli_measures_dicts_as_json_and_keeps_name_and_id() -> None:
    history = [
        *talk(1),
        ModelRequest(parts=[UserPromptPart("go")]),
        ModelResponse(parts=[ToolCallPart("list", {}, "c9")]),
        ModelRequest(parts=[ToolReturnPart("list", {"items": ["x" * 100] * 40}, "c9")]),
        ModelResponse(parts=[TextPart("ok")]),
    ]
    part = next(
        p for m in prepared("co-cli", asked(history)).messages for p in m.parts if isinstance(p, ToolReturnPart)
    )
    assert (part.tool_name, part.tool_call_id) == ("list", "c9")
    assert part.content.startswith('{"items":["xxx') and part.content.endswith("chars total]")


def test_co_cli_slides_its_window_at_forty_messages() -> None:
    assert LOADED["co-cli"].max_history_messages == 40
    assert prepared("co-cli", asked(wordy(19))).compaction is None  # 39 messages
    done = prepared("co-cli", asked(wordy(20)))  # 41 messages
    assert done.compaction is not None
    head, marker, *tail = [m.parts[0].content for m in (done.messages[1], done.messages[2], *done.messages[3:])]
    assert head == "answer 0" and marker.startswith("[Summary of 19 earlier messages]\n")
    assert len(tail) == max(4, 40 // 2) and tail[-1] == "and now?"


def test_co_cli_keeps_no_head_without_a_text_reply() -> None:
    silent = []
    for n in range(30):
        silent.append(ModelResponse(parts=[ToolCallPart("t", {}, f"c{n}")]))
        silent.append(ModelRequest(parts=[ToolReturnPart("t", "r", f"c{n}")]))
    history = [ModelRequest(parts=[UserPromptPart("go")]), *silent]
    first, second = prepared("co-cli", history).messages[:2]
    assert first.parts[0].content == "go", "the latest prompt stays, whatever the window says"
    assert second.parts[0].content.startswith("[Summary of ")


def test_inkeep_compresses_at_half_of_the_window() -> None:
    numbers = LOADED["inkeep"]
    assert (numbers.compression_threshold, numbers.fallback_messages, numbers.fallback_tokens) == (0.5, 50, 8000)
    history = talk(30, "some output words " * 20)
    used = prepared("off", asked(history)).reading.current_tokens
    assert prepared("inkeep", asked(history), window=int(used * 2.2)).compaction is None
    done = prepared("inkeep", asked(history), window=int(used * 1.9))
    assert done.compaction is not None and done.compaction.trigger == "blocking"
    assert [m.parts[0].content for m in done.messages][-1] == "and now?"


def test_inkeep_without_a_summariser_keeps_fifty_messages_and_eight_thousand_tokens() -> None:
    many = Governed(LOADED["inkeep"], 5_000, summarise=None)
    done = many.prepare(asked(talk(200)))
    assert done.compaction is not None and len(done.messages) == 50 + 1
    marker = done.messages[0].parts[0].content
    assert marker == "[Earlier conversation trimmed — 351 messages removed to stay within context budget]"
    few = Governed(LOADED["inkeep"], 80_000, summarise=None)
    done = few.prepare(asked(talk(60, "some output words " * 250)))
    kept = sum(map(few.governor.meter.tokens, done.messages[1:]))
    assert done.compaction is not None and 6_000 < kept <= 8_000 and len(done.messages) < 50


def test_inkeep_compresses_a_run_by_itself_the_later_the_larger_the_model() -> None:
    numbers = LOADED["inkeep"]
    shares = [run_threshold(policy_of(numbers), window) for window in (1_000, 8_000, 128_000, 1_000_000, 10_000_000)]
    assert shares == sorted(shares) and (shares[0], shares[-1]) == (0.75, 0.91)
    steps = []
    for n in range(12):
        steps.append(ModelResponse(parts=[ToolCallPart("read", {"n": n}, f"c{n}")]))
        steps.append(ModelRequest(parts=[ToolReturnPart("read", f"finding {n} in src/module_{n}.py " * 60, f"c{n}")]))
    history = [*talk(2), ModelRequest(parts=[UserPromptPart("look at all modules")]), *steps]
    used = prepared("off", history).reading.current_tokens
    assert prepared("inkeep", history, window=int(used / 0.70)).compaction is None
    done = prepared("inkeep", history, window=int(used / 0.85))
    assert done.compaction is not None and done.waited
    texts = [part.content for m in done.messages for part in m.parts if isinstance(part, UserPromptPart)]
    assert texts[:2] == ["question 0", "question 1"] and texts[2] == "look at all modules", "the conversation stays"
    assert "src/module_3.py" in texts[3] and done.messages[-2:] == history[-2:], "and the newest step"


def test_a_summariser_that_fails_leaves_a_marker() -> None:
    def broken(messages, budget_tokens, *, user_words=True) -> str:
        raise RuntimeError("no model")

    governor = Governed(LOADED["co-cli"], 128_000, summarise=broken)
    done = governor.prepare(asked(talk(20)))
    assert done.messages[2].parts[0].content == (
        "[Earlier conversation trimmed — 19 messages removed to stay within context budget]"
    )


def made_up(messages) -> int:
    """Answers that repair had to invent."""
    parts = (part for message in messages for part in message.parts)
    return sum(isinstance(part, ToolReturnPart) and part.content == INTERRUPTED for part in parts)


@settings(max_examples=drawn(10), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    paired_histories | histories.map(repair).filter(bool),
    st.sampled_from(POLICIES),
    st.sampled_from([1_000, 4_000, 128_000]),
    st.data(),
)
def test_what_is_pinned_is_kept_by_every_stage_with_its_pair(history, name, window, data) -> None:
    pins = data.draw(pins_on(history))
    governor = Governed(LOADED[name], window)
    pinned = [message for index in sorted(pins) if sendable([message := history[index]]) == [message]]
    live = list(history)
    for _ in range(3):
        places = {index for index, message in enumerate(live) if any(message is pin for pin in pinned)}
        done = governor.prepare(live, places)
        assert all(any(message is pin for message in done.messages) for pin in pinned)
        assert made_up(done.messages) <= made_up(live), "a call that is kept keeps its own result"
        assert breaches(live, done.messages, fits=True) == []
        live = [
            *done.history,
            ModelResponse(parts=[TextPart("answer " * 50)]),
            ModelRequest(parts=[UserPromptPart("so?")]),
        ]


def test_copilot_starts_during_the_turn_at_80_and_waits_at_95_percent() -> None:
    numbers = LOADED["copilot"]
    assert (numbers.background_compaction_threshold, numbers.buffer_exhaustion_threshold) == (0.8, 0.95)
    assert numbers.min_compaction_messages == 4
    history = asked(talk(40, "some output words " * 10))
    used = prepared("off", history).reading.current_tokens
    governor = Governed(numbers, int(used / 0.85))
    first = governor.prepare(history)
    assert first.compaction is None
    later = [*first.history, ModelResponse(parts=[TextPart("meanwhile")]), ModelRequest(parts=[UserPromptPart("next")])]
    second = governor.prepare(later)
    assert second.compaction is not None and not second.waited and second.compaction.trigger == "background"
    blocked = Governed(numbers, int(used / 0.97)).prepare(history)
    assert blocked.compaction is not None and blocked.waited


def test_cowagent_turns_budget_and_ends() -> None:
    numbers = LOADED["cowagent"]
    assert (numbers.agent_max_context_turns, numbers.agent_max_context_tokens, numbers.few_turns) == (20, 50_000, 5)
    assert (numbers.head_tail_chars, numbers.agent_max_steps, numbers.retention_days) == (20_000, 15, 30)
    assert prepared("cowagent", asked(talk(19))).compaction is None  # 20 turns
    governed = Governed(numbers, 128_000)
    first = governed.prepare(asked(wordy(20)))
    assert first.compaction is not None and not first.compaction.summary, "it is summarised in the background"
    done = governed.prepare(asked([*first.history, ModelResponse(parts=[TextPart("meanwhile")])], "next"))
    assert done.compaction is not None and done.compaction.trigger == "turns" and not done.waited
    first = done.messages[0]
    (part,) = first.parts
    assert part.content.startswith("[Earlier conversation, summarised]\n") and "\n\n---\n\nquestion 10" in part.content
    long = "a" * 15_000 + "b" * 15_000
    clipped = prepared("cowagent", asked(talk(2, long))).messages[2].parts[0].content
    assert len(clipped) <= 20_000 and clipped.startswith("aaa") and clipped.endswith("bbb") and "left out" in clipped
    few = prepared("cowagent", asked(talk(3, "word " * 30_000)), head_tail_chars=0)
    assert few.compaction is not None and few.compaction.trigger == "budget"
    assert not any(isinstance(p, ToolReturnPart) for m in few.messages for p in m.parts)
    assert [m.parts[0].content for m in few.messages][-1] == "and now?"


def test_the_truncator_aims_below_the_limit_and_drops_replies_before_prompts() -> None:
    history = asked(talk(60, "some output words " * 30))
    done = prepared("off", history, window=4_000, truncation="on")
    assert done.truncation is not None and done.reading.current_tokens <= 4_000 * 0.95 + 1
    kept = [m.parts[0].content for m in done.messages if isinstance(m, ModelRequest)]
    assert "question 0" in kept and kept[-1] == "and now?"
    assert "answer 0" not in str(done.messages) and "answer 59" in str(done.messages)


def test_what_was_truncated_is_what_is_no_longer_sent() -> None:
    policy, scaffold = policy_of(LOADED["off"].but(truncation="on")), Scaffold()
    governor = Governor(policy, Window(tokens=4_000, known=True))
    live = asked(talk(2, "some words " * 300))
    governor.fit(governor.measure(live, scaffold), scaffold)
    reply = ModelResponse(parts=[TextPart("well")], usage=RequestUsage(input_tokens=3_990, output_tokens=10))
    governor.meter.reported(reply)
    live = asked([*live, reply])
    done = governor.fit(governor.measure(live, scaffold), scaffold)
    assert done.truncation is not None
    gone = sum(map(governor.meter.tokens, live)) - sum(map(governor.meter.tokens, done.messages))
    assert done.truncation.pre_tokens - done.truncation.post_tokens == round(gone)


def test_a_prompt_that_alone_does_not_fit_is_reported_with_its_overshoot() -> None:
    done = prepared("balanced", asked(talk(2), "word " * 5000), window=2_000)
    assert done.overshoot_tokens > 1_000
    assert IndexedHistory(done.messages).latest_prompt is not None


def test_a_compaction_that_frees_too_little_is_not_tried_again_and_again() -> None:
    history = asked([ModelRequest(parts=[UserPromptPart("x")]), *talk(2)], "word " * 3000)
    governor = Governed(LOADED["copilot"], 3_300)
    assert all(governor.prepare(history).compaction is None for _ in range(3))


@pytest.mark.parametrize("name", also_in_a_long_run(POLICIES[:4], POLICIES[4:]))
def test_replaying_the_same_history_gives_the_same_request(name: str) -> None:
    history = asked(talk(25, "some output " * 50))
    one, two = (prepared(name, history, window=6_000) for _ in range(2))
    assert ModelMessagesTypeAdapter.dump_json(one.messages) == ModelMessagesTypeAdapter.dump_json(two.messages)


@pytest.mark.parametrize("window", [8_000, 32_000, 128_000])
def test_a_rule_survives_a_pasted_specification_and_many_compactions(window: int) -> None:
    clauses = " ".join(f"Clause {n}: the server must answer request kind {n} within {n} ms." for n in range(150))
    rule = "From now on always write commit messages in French, and never push to main without asking me first."
    history = [*asked([], clauses), ModelResponse(parts=[TextPart("ok")]), *asked([], rule)]
    governor = Governed(LOADED["balanced"], window).governor
    for _ in range(4):
        cut = Cut(tuple(range(len(history))), Trigger.MANUAL)
        done = build(
            SummaryForm.FULL,
            history,
            cut,
            Digest("A summary."),
            words=governor.user_messages_for(history, SummaryForm.FULL),
        )
        summary, under_way = (message.parts[0].content for message in done.messages)
        assert rule in under_way and rule not in summary
        history = [*done.messages, *talk(30, "words " * 20)]


def test_a_prompt_joined_with_a_summary_keeps_the_users_own_text() -> None:
    history = asked(talk(4))
    joined = build(SummaryForm.PROMPT, history, Cut((0, 1), Trigger.TURNS), Digest("the summary")).applied(history)
    assert "the summary" in str(joined[0]) and "question 1" in str(first_and_last_texts(joined)[0])
