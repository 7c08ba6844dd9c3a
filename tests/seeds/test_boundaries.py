"""Each number of the sources at its boundary, on the engine that sessions run."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.context.compact.thresholds import run_threshold
from co_tui.context.conversation_text import in_parts
from co_tui.context.indexed_history import IndexedHistory
from co_tui.context.measure.count import FALLBACK_WINDOW_TOKENS, Window
from co_tui.context.policy import policy_of
from co_tui.context.request.pipeline import Governor
from co_tui.events.triggers import Trigger
from co_tui.session.compaction import recovery
from co_tui.session.compaction.summaries import request_for
from co_tui.session.history.restoring import LEAST_RESTORED_TURNS
from co_tui.settings import Settings
from tests.context.request.test_pipeline import LOADED, asked, talk, wordy
from tests.seeds.behaviours import says
from tests.support.governed import Governed, Request

NUMBERS = [
    ("co-cli", "G2a", "tool_output_trim_chars", 2_000),
    ("co-cli", "G3a", "max_history_messages", 40),
    ("co-cli", "C1", "summarization_model", ""),
    ("co-cli", "C5", "on_demand_form", "pair"),
    ("co-cli", "C14", "summary_fallback", "marker"),
    ("inkeep", "G3b", "compression_threshold", 0.5),
    ("inkeep", "G3b", "fallback_messages", 50),
    ("inkeep", "G3b", "fallback_tokens", 8_000),
    ("inkeep", "G3b", "considered_messages", 10_000),
    ("inkeep", "G3c", "run_compression_low", 0.75),
    ("inkeep", "G3c", "run_compression_high", 0.91),
    ("inkeep", "C14", "summary_fallback", "limits"),
    ("inkeep", "T4", "delegation_context", "conversation"),
    ("inkeep", "T4", "delegation_results", "on"),
    ("copilot", "T4", "delegation_context", "fresh"),
    ("copilot", "G3d", "background_compaction_threshold", 0.8),
    ("copilot", "G3d", "buffer_exhaustion_threshold", 0.95),
    ("copilot", "G3d", "min_compaction_messages", 4),
    ("copilot", "G4", "max_prompt_tokens", 0),
    ("cowagent", "G2b", "head_tail_chars", 20_000),
    ("cowagent", "G3e", "agent_max_context_turns", 20),
    ("cowagent", "G3f", "agent_max_context_tokens", 50_000),
    ("cowagent", "G3f", "few_turns", 5),
    ("cowagent", "G6", "agent_max_steps", 15),
    ("cowagent", "S4", "restored", "texts"),
    ("cowagent", "S5", "retention_days", 30),
]


@pytest.mark.parametrize(("policy", "row", "setting", "value"), NUMBERS, ids=lambda part: str(part))
def test_the_number(policy: str, row: str, setting: str, value: object) -> None:
    assert getattr(LOADED[policy], setting) == value


def test_numbers_that_are_no_setting() -> None:
    assert FALLBACK_WINDOW_TOKENS == 128_000, "copilot, G4: when nobody tells a limit"
    assert (recovery.EMERGENCY_CHARS, recovery.EMERGENCY_TURNS) == (10_000, 5), "cowagent, C10"
    assert LEAST_RESTORED_TURNS == 3, "cowagent, S4"


EARLIER = "[Earlier conversation, summarised]"


def governed(policy: str, window: int = 1_000_000, summarise: Any = "offline", **changes: Any) -> Governed:
    return Governed(LOADED[policy].but(**changes), window, summarise=summarise)


def prepared(policy: str, history: list[ModelMessage], **options: Any) -> Request:
    return governed(policy, **options).prepare(history)


def fails(messages: Any, budget_tokens: int, *, user_words: bool = True) -> str:
    raise RuntimeError("no model can be reached")


def says_nothing(messages: Any, budget_tokens: int, *, user_words: bool = True) -> str:
    return "  "


def contents(messages: list[ModelMessage]) -> list[Any]:
    return [message.parts[0].content for message in messages]


# co-cli


@pytest.mark.parametrize(("chars", "cut"), [(2_000, False), (2_001, True)])
def test_co_cli_g2a_a_result_over_2000_characters_is_cut(chars: int, cut: bool) -> None:
    request = prepared("co-cli", asked(talk(2, "r" * chars))).messages
    result = next(part for message in request for part in message.parts if isinstance(part, ToolReturnPart))
    assert result.content == ("r" * 2_000 + "\n[…truncated, 2001 chars total]" if cut else "r" * 2_000)


@says("co-cli", "Sliding Window", "At least 4 messages stay at the end")
@pytest.mark.parametrize(
    ("limit", "messages", "tail"), [(40, 41, 20), (40, 39, None), (6, 15, 4), (0, 301, None)], ids=str
)
def test_co_cli_g3a_the_window_and_its_tail(limit: int, messages: int, tail: int | None) -> None:
    done = prepared("co-cli", asked(wordy(messages // 2)), max_history_messages=limit)
    if tail is None:
        assert done.compaction is None
        return
    assert contents(done.messages)[1] == "answer 0", "the head ends with the first reply that has text"
    assert contents(done.messages)[2].startswith("[Summary of ") and len(done.messages) == 3 + tail


@says("co-cli", "Sliding Window", "It acts when the messages exceed the limit, however long the head is")
@pytest.mark.parametrize("head", [2, 10, 14, 18, 20])
@pytest.mark.parametrize(("messages", "acts"), [(39, False), (40, False), (41, True), (42, True)])
def test_co_cli_g3a_acts_whatever_its_head(head: int, messages: int, acts: bool) -> None:
    first: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("go")])]
    for n in range(head // 2 - 1):
        first.append(ModelResponse(parts=[ToolCallPart("look", {}, f"c{n}")]))
        first.append(ModelRequest(parts=[ToolReturnPart("look", "seen", f"c{n}")]))
    first.append(ModelResponse(parts=[TextPart("The first answer.")]))
    assert len(first) == head
    rest = [message for n in range(messages) for message in wordy(1)][: messages - head - messages % 2]
    history = [*first, *rest] if messages % 2 == 0 else asked([*first, *rest])
    assert len(history) == messages
    done = prepared("co-cli", history)
    assert (done.compaction is not None) == acts
    if done.compaction is not None:
        assert contents(done.messages[head:])[0].startswith("[Summary of ") and len(done.messages) <= head + 1 + 21


@says(
    "co-cli", "Sliding Window", "A summary that is longer than what it replaces is used (its guard is deferred there)"
)
def test_co_cli_c3_a_longer_summary_is_used() -> None:
    long = "\n".join(f"- Answer {n} was given, at some length and with many different words." for n in range(400))
    done = prepared("co-cli", asked(talk(20)), summarise=lambda *_, **__: long)
    assert contents(done.messages)[2] == f"[Summary of 19 earlier messages]\n{long}"
    assert done.compaction is not None and done.compaction.post_tokens > done.compaction.pre_tokens
    refused = prepared("co-cli", asked(talk(20)), summarise=lambda *_, **__: long, longer_summaries="refused")
    assert refused.compaction is None


@pytest.mark.parametrize("summarise", [fails, says_nothing, None])
def test_co_cli_c14_a_failing_summariser_gives_the_static_marker(summarise: Callable[..., str] | None) -> None:
    done = prepared("co-cli", asked(talk(20)), summarise=summarise)
    assert contents(done.messages)[2] == (
        "[Earlier conversation trimmed — 19 messages removed to stay within context budget]"
    )


# copilot


@says("copilot", "BasicTruncator", "A request is truncated when its count is over the limit, measured or not")
@pytest.mark.parametrize(("share", "truncated"), [(0.8, False), (0.99, False), (1.01, True)])
def test_copilot_g4_an_unmeasured_request_is_truncated_over_the_limit_only(share: float, truncated: bool) -> None:
    history = asked(talk(30, "some output words " * 20))
    used = prepared("off", history).reading.current_tokens
    done = prepared("copilot", history, max_prompt_tokens=int(used / share))
    assert (done.truncation is not None) == truncated and done.reading.measured == "estimate"


@says(
    "copilot", "Request-time prompt trimming", "The processors run in this order: compaction first, then the truncator"
)
def test_copilot_g4_truncates_what_a_compaction_left() -> None:
    history = asked([*talk(30, "some output words " * 20), *long_turns(2, 3_000)], "long words " * 1_000)
    used = prepared("off", history).reading.current_tokens
    done = prepared("copilot", history, window=int(used / 0.97), max_prompt_tokens=2_500)
    assert done.compaction is not None and done.waited and done.truncation is not None
    assert done.truncation.pre_tokens < used / 2, "the truncator got what the compaction left"


# inkeep


def inkeep(history: list[ModelMessage], share: float, **options: Any) -> Request:
    """With a window of which the history takes such a share."""
    used = prepared("off", history).reading.current_tokens
    return prepared("inkeep", history, window=int(used / share), **options)


@says("inkeep", "Conversation-Level Compression", "The conversation is compressed at 50 % of the model's window")
@pytest.mark.parametrize(("share", "compressed"), [(0.48, False), (0.52, True)])
def test_inkeep_g3b_compresses_at_half_of_the_window(share: float, compressed: bool) -> None:
    assert (inkeep(asked(talk(30, "some output words " * 20)), share).compaction is not None) == compressed


@says("inkeep", "Fixed Limits", "Without a summary the 50 most recent messages stay")
@pytest.mark.parametrize("summarise", [fails, says_nothing, None])
def test_inkeep_g3b_without_a_summary_the_last_50_messages_stay(summarise: Callable[..., str] | None) -> None:
    done = inkeep(asked(talk(200)), 0.6, summarise=summarise)
    assert done.compaction is not None and len(done.messages) == 1 + 50
    assert contents(done.messages)[0].startswith("[Earlier conversation trimmed — 351 messages removed")


@says("inkeep", "Fixed Limits", "At most 8,000 tokens of them")
@pytest.mark.parametrize("summarise", [fails, None])
def test_inkeep_g3b_and_at_most_8000_tokens_of_them(summarise: Callable[..., str] | None) -> None:
    history = asked(talk(60, "some output words " * 250))
    done = inkeep(history, 0.6, summarise=summarise)
    tokens = governed("inkeep").governor.meter.tokens
    assert done.compaction is not None and 6_000 < sum(map(tokens, done.messages[1:])) <= 8_000


@says("inkeep", "Intelligent Compression", "Up to 10,000 messages are considered")
def test_inkeep_g3b_considers_the_newest_10000_messages() -> None:
    governor = Governor(policy_of(LOADED["inkeep"]), Window(tokens=1_000_000, known=True))
    assert len(request_for(governor, talk(5_500), Trigger.BLOCKING).messages) == 10_000


@says(
    "inkeep",
    "Sub-Agent Generation Compression",
    "A sub-agent's own results are compressed at 75 to 91 % of the window, by its size",
)
def test_inkeep_g3c_a_run_is_compressed_between_75_and_91_percent() -> None:
    shares = [run_threshold(policy_of(LOADED["inkeep"]), window) for window in (8_000, 128_000, 1_000_000)]
    assert shares[0] == 0.75 and shares[-1] == 0.91 and shares == sorted(shares)


# copilot


@pytest.mark.parametrize(("share", "waits"), [(0.78, None), (0.82, False), (0.94, False), (0.96, True)])
def test_copilot_g3d_the_two_marks(share: float, waits: bool | None) -> None:
    history = asked(talk(40, "some output words " * 10))
    used = prepared("off", history).reading.current_tokens
    governing = governed("copilot", window=int(used / share))
    found = governing.governor.decide(governing.measure(history))
    assert (found.waits if found else None) == waits


@pytest.mark.parametrize(("messages", "compacted"), [(3, False), (5, True)])
def test_copilot_g3d_needs_four_messages(messages: int, compacted: bool) -> None:
    history = asked(talk(messages // 2))
    history[0] = ModelRequest(parts=[UserPromptPart("word " * 2_000)])
    used = prepared("off", history).reading.current_tokens
    assert (prepared("copilot", history, window=int(used / 0.97)).compaction is not None) == compacted


@pytest.mark.parametrize(
    ("setting", "limit"), [(0, 4_000), (3_000, 3_000), (9_000, 4_000)], ids=["the window", "the setting", "never above"]
)
def test_copilot_g4_the_longest_prompt(setting: int, limit: int) -> None:
    done = prepared("off", asked(talk(350)), window=4_000, truncation="on", max_prompt_tokens=setting)
    assert done.truncation is not None and limit * 0.85 < done.reading.most_tokens <= limit


# cowagent


@pytest.mark.parametrize(("chars", "cut"), [(20_000, False), (20_001, True)])
def test_cowagent_g2b_results_of_earlier_turns_over_20000_characters(chars: int, cut: bool) -> None:
    request = prepared("cowagent", asked(talk(1, "r" * chars))).messages
    result = next(part for message in request for part in message.parts if isinstance(part, ToolReturnPart))
    assert (len(result.content) < chars) == cut and result.content[:100] == result.content[-100:] == "r" * 100


@pytest.mark.parametrize(("turns", "left"), [(19, 19), (20, 20), (21, 11)])
def test_cowagent_g3e_over_20_turns_the_oldest_half_goes_at_once(turns: int, left: int) -> None:
    done = prepared("cowagent", asked(wordy(turns - 1)))
    prompts = [m for m in done.messages if isinstance(m, ModelRequest)]
    assert len(prompts) == left and not done.waited
    assert (done.compaction is not None) == (left < turns) and EARLIER not in contents(done.messages)[0]


def test_cowagent_a_prompt_that_is_with_results_takes_their_calls_along() -> None:
    joined = ModelRequest(parts=[ToolReturnPart("look", "seen", "c"), UserPromptPart("and this?")])
    history = [ModelRequest(parts=[UserPromptPart("first")]), ModelResponse(parts=[ToolCallPart("look", {}, "c")])]
    cut = IndexedHistory([*history, joined, *talk(3)]).turns_cut(1, Trigger.TURNS)
    assert cut is not None and cut.replaced == (0,), "the call stays with its result"


def long_turns(count: int, tokens_each: int) -> list[ModelMessage]:
    return [
        message
        for n in range(count)
        for message in (
            ModelRequest(parts=[UserPromptPart(f"question {n} " + "more words " * (tokens_each // 2))]),
            ModelResponse(parts=[ToolCallPart("look", {}, f"c{n}")]),
            ModelRequest(parts=[ToolReturnPart("look", "seen", f"c{n}")]),
            ModelResponse(parts=[TextPart(f"answer {n}")]),
        )
    ]


def test_cowagent_g3f_over_50000_tokens_with_five_turns_or_more_the_first_half_goes() -> None:
    done = prepared("cowagent", asked(long_turns(7, 9_000)))
    assert done.compaction is not None and done.compaction.trigger == "budget" and done.waited
    assert sum(isinstance(m, ModelRequest) and isinstance(m.parts[0], UserPromptPart) for m in done.messages) == 4
    assert prepared("cowagent", asked(long_turns(7, 5_000))).compaction is None


def test_cowagent_g3f_with_fewer_turns_each_keeps_its_first_and_last_text() -> None:
    done = prepared("cowagent", asked(long_turns(3, 20_000)))
    assert done.compaction is not None and done.waited
    assert not any(isinstance(part, ToolCallPart | ToolReturnPart) for m in done.messages for part in m.parts)
    assert len(done.messages) == 3 * 2 + 1


def test_cowagent_g3f_turns_and_budget_go_in_one_pass() -> None:
    """24 turns of 5,500 tokens: twelve go for their number, and half of the rest for its size, before the request."""
    done = prepared("cowagent", asked(long_turns(23, 5_500)))
    prompts = [m for m in done.messages if isinstance(m, ModelRequest) and isinstance(m.parts[0], UserPromptPart)]
    assert len(prompts) == 6 and done.compaction is not None and done.waited
    assert done.reading.current_tokens <= 50_000


def test_cowagent_g3f_the_budget_is_never_more_than_the_window() -> None:
    history = asked(long_turns(8, 3_000))
    used = prepared("off", history).reading.current_tokens
    done = prepared("cowagent", history, window=int(used * 0.9))
    assert done.compaction is not None and done.compaction.trigger == "budget" and done.truncation is None


def test_every_fallback_is_a_setting_of_any_policy() -> None:
    for fallback, expected in (("offline", "## "), ("marker", "[Earlier conversation trimmed")):
        done = prepared("co-cli", asked(wordy(20)), summarise=fails, summary_fallback=fallback)
        assert expected in contents(done.messages)[2]
    assert Settings().summary_fallback == "offline"


AS_THE_SEED_WRITES_IT = """## Tool: search_knowledge_base

**Input:**
{
  "query": "API authentication methods"
}

**Output:**
{
  "results": [
    "…"
  ]
}"""


@pytest.mark.parametrize(
    "given", ['{"query":"API authentication methods"}', {"query": "API authentication methods"}], ids=["text", "object"]
)
def test_inkeep_t5_a_tool_result_in_a_summary_request(given: str | dict[str, Any]) -> None:
    call = ToolCallPart("search_knowledge_base", given, tool_call_id="1")
    result = ToolReturnPart("search_knowledge_base", {"results": ["…"]}, tool_call_id="1")
    assert in_parts([ModelResponse([call]), ModelRequest([result])], 5_000) == [AS_THE_SEED_WRITES_IT]


def test_inkeep_t5_text_is_left_as_it_is() -> None:
    call, result = (
        ToolCallPart("run", "{not json", tool_call_id="1"),
        ToolReturnPart("run", '{"a":1}', tool_call_id="1"),
    )
    (text,) = in_parts([ModelResponse([call]), ModelRequest([result])], 5_000)
    assert text == '## Tool: run\n\n**Input:**\n{not json\n\n**Output:**\n{"a":1}'
