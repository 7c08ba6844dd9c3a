"""Compaction and truncation cases of other projects' tests, retold, against our code.

Every case that is more than an idea either runs here, or is listed with the reason why it does not apply, or
with the tests that hold it.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from co_tui.agent.wire import overflow
from co_tui.context.measure.count import Scaffold, Window
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import SummaryForm, policy_of
from co_tui.context.request.pipeline import Governor
from co_tui.context.request.tool_outputs import archive, keep_ends, trim
from co_tui.context.request.truncate import truncate
from co_tui.events import CompactionComplete, Event, Message
from co_tui.events.stored_messages import REPLACES
from co_tui.session.state.derive import replay
from tests.context.request.test_pipeline import LOADED, asked, talk
from tests.support.governed import Governed
from tests.support.peer_talks import ask, chats, compacted, compacts, compressing, say, texts, weighed, words
from tests.support.shared import DATA

FILE = DATA / "peer_cases.json"
CASES = {case["id"]: case for case in json.loads(FILE.read_text("utf-8"))} if FILE.is_file() else {}
DUE = [name for name, case in CASES.items() if case["portable"] in ("exact", "invariant")]

pytestmark = pytest.mark.skipif(not CASES, reason="no shared data beside this checkout")

DOES_NOT_APPLY = {
    "pi-keep-all": "A compaction that replaces nothing puts nothing into our history: a summary beside the very "
    "messages it summarises only costs room.",
    "pi-real-compaction": "Sessions of other programs cannot be imported yet; it is for the importer's tests.",
    "opencode-overflow-unknown-window": "An unknown window is assumed to be 128,000 tokens and shown as a guess, where "
    "that peer never compacts.",
    "opencode-trunc-tail": "Results are cut by characters, and keep their beginning or both ends, never the end alone.",
    "kimi-prepare": "System messages stay as they are and are never given to the summariser.",
    "langchain-trim-first-30": "The newest messages are kept, never the oldest: the latest prompt is always sent.",
    "langchain-trim-first-30-partial": "The newest messages are kept, and none is ever sent in part.",
    "langchain-trim-last-40-partial": "Messages of the user and the model are sent whole or not at all.",
    "langchain-trim-last-30-end-human": "Messages are sent whole or not at all, and the newest ends the request.",
    "langchain-trim-partial-chars": "The latest prompt is sent whole; when it alone is too long, the app says so.",
}
"""Rules of a peer that ours are not, each with the reason."""

TESTED_ELSEWHERE = {
    "gemini-inflated": "test_a_summary_that_cannot_be_used_gives_way_to_the_offline_one",
    "gemini-blank-summary": "test_a_summary_that_cannot_be_used_gives_way_to_the_offline_one",
    "opencode-summary-no-tools": "test_a_summary_that_cannot_be_used_gives_way_to_the_offline_one",
    "opencode-interrupt": "test_cancelling_while_it_waits_to_try_again_stops_at_once",
    "cline-cancelled": "test_cancelling_closes_the_connection_at_once_and_changes_nothing",
    "codex-smaller-model": "test_switching_to_a_smaller_window_asks_then_compacts_with_the_old_model",
}
"""What needs a live session, by its test in `tests/session`."""

Check = Callable[[dict[str, Any], dict[str, Any]], None]
RUNS: dict[str, Check] = {}


def holds(*names: str) -> Callable[[Check], Check]:
    """The function checks the cases of these ids: it is given each one's input and what is expected of it."""

    def register(check: Check) -> Check:
        RUNS.update(dict.fromkeys(names, check))
        return check

    return register


# When


@holds("gemini-below")
def below_the_share(given: dict[str, Any], expected: dict[str, Any]) -> None:
    history = asked(talk(5))
    meter = weighed(history, given["last_prompt_tokens"])
    assert compacts(compressing(given["threshold"]), given["window"], history, meter) is expected["compacts"]
    meter = weighed(history, int(given["threshold"] * given["window"]))
    assert compacts(compressing(given["threshold"]), given["window"], history, meter), "the case is no accident"


@holds("pi-trigger-95000", "pi-trigger-89000", "pi-trigger-off")
def reserve(given: dict[str, Any], expected: dict[str, Any]) -> None:
    settings = compressing(1 - given["reserve_tokens"] / given["window"]) if given["enabled"] else LOADED["off"]
    history = asked(talk(5))
    meter = weighed(history, given["context_tokens"])
    assert compacts(settings, given["window"], history, meter) is expected["compacts"]


@holds(
    "kimi-trigger-150000-200000-0.85",
    "kimi-trigger-140000-200000-0.85",
    "kimi-trigger-850000-1000000-0.85",
    "kimi-trigger-840000-1000000-0.85",
    "kimi-trigger-140000-200000-0.7",
    "kimi-trigger-139999-200000-0.7",
    "kimi-trigger-0-200000-0.85",
)
def share_or_reserve(given: dict[str, Any], expected: dict[str, Any]) -> None:
    threshold = min(given["ratio"], 1 - given["reserved"] / given["window"])
    history = asked(talk(5))
    meter = weighed(history, given["tokens"])
    assert compacts(compressing(threshold), given["window"], history, meter) is expected["compacts"]


@holds(
    "opencode-overflow-over",
    "opencode-overflow-under",
    "opencode-overflow-cache",
    "opencode-overflow-input-cap",
    "opencode-overflow-input-cap-ok",
    "opencode-overflow-small-output",
    "opencode-overflow-headroom",
    "opencode-overflow-headroom-2",
    "opencode-overflow-symmetry",
    "opencode-overflow-off",
)
def room_for_the_reply(given: dict[str, Any], expected: dict[str, Any]) -> None:
    """That peer keeps room for a reply: all of it below the window, at most 20,000 below a limit for the input."""
    cap, reply = given.get("input_limit"), given["output_limit"]
    window = cap or given["window"]
    settings = compressing(1 - (min(20_000, reply) if cap else reply) / window)
    usage = reported(given["usage"])
    history = asked(talk(5))
    meter = weighed(history, usage.input_tokens)
    meter.read(history, Scaffold(), Window(tokens=window, known=True))
    meter.sent(history, Scaffold())
    history = [*history, reply_to := say("so", usage=usage)]
    meter.reported(reply_to)
    found = compacts(settings if given.get("auto", True) else LOADED["off"], window, history, meter)
    assert found is expected["overflow"]


def reported(usage: dict[str, int]) -> RequestUsage:
    """Providers name what came from the cache apart; `input_tokens` holds it all."""
    read, written = usage.get("cache_read", 0), usage.get("cache_write", 0)
    return RequestUsage(
        input_tokens=usage["input"] + read + written,
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=usage.get("output", 0),
    )


@holds("openhands-trigger")
def number_of_messages(given: dict[str, Any], expected: dict[str, Any]) -> None:
    settings = LOADED["co-cli"].but(max_history_messages=given["max_messages"])
    history = talk(100)
    found = [compacts(settings, 1_000_000, history[:count], Meter()) for count in given["counts"]]
    assert found == expected["condenses"]


@holds("aider-too-big")
def too_big(given: dict[str, Any], expected: dict[str, Any]) -> None:
    for which in "ab":
        done = truncate(chats(given[f"messages_{which}"]), given["max_tokens"], words)
        assert done.removed == 0 and done.fits is not expected[f"{which}_too_big"]


@holds("gemini-empty-history", "cline-single", "kimi-nothing")
def nothing_to_compact(given: dict[str, Any], expected: dict[str, Any]) -> None:
    history = chats(given["messages"])
    for name in ("balanced", "copilot", "inkeep", "co-cli", "cowagent"):
        done = Governed(LOADED[name], 1_000, meter=weighed(history, 990)).prepare(history)
        assert done.compaction is None and done.history == history, name


@holds("cline-no-retrigger")
def not_again_at_once(given: dict[str, Any], expected: dict[str, Any]) -> None:
    governed, done = compacted(asked(talk(10)))
    assert done.compaction is not None
    later = [*done.history, say("answer"), ask("next")]
    assert governed.prepare(later).compaction is None


# How much


@holds("pi-usage-sum")
def usage_sum(given: dict[str, Any], expected: dict[str, Any]) -> None:
    meter, history, window = Meter(), [ask("hi")], Window(tokens=10_000, known=True)
    meter.read(history, Scaffold(), window)
    meter.sent(history, Scaffold())
    reply = say("yes", usage=reported(given["usage"]))
    meter.reported(reply)
    reading = meter.read_reply(reply, Scaffold(), window)
    assert (reading.current_tokens, reading.measured) == (expected["context_tokens"], "provider")


@holds("pi-skip-aborted")
def aborted_usage(given: dict[str, Any], expected: dict[str, Any]) -> None:
    def read(*usages: dict[str, Any]) -> int:
        governed = Governed(LOADED["off"], 10_000)
        history: list[ModelMessage] = []
        for usage in usages:
            history.append(ask("go on"))
            governed.prepare(history)
            state = "interrupted" if usage.get("stop") == "aborted" else "complete"
            counted = RequestUsage(input_tokens=usage["input"], output_tokens=1)
            history.append(say("well", usage=counted, state=state))
        return governed.measure([*history, ask("and?")]).reading.current_tokens

    first, aborted = given["assistant_usages_in_order"]
    assert read(first, aborted) == read(first, {**aborted, "input": 0})
    assert expected["use"]["input"] < read(first, aborted) < aborted["input"]


@holds("openhands-tools-count")
def tools_count(given: dict[str, Any], expected: dict[str, Any]) -> None:
    tool = ToolDefinition(name="grep", description="Search files.", parameters_json_schema={"type": "object"})

    def count(**parts: Any) -> int:
        governor = Governor(policy_of(LOADED["off"]), Window(tokens=10_000, known=True))
        return governor.measure([ask("hi")], Scaffold(instructions="Be nice.", **parts)).reading.current_tokens

    assert count(tools=[tool]) > count() == count(tools=[])


# What is left


@holds("langchain-trim-last-30-system", "langchain-trim-last-30-start-human", "langchain-trim-empty")
def newest_that_fit(given: dict[str, Any], expected: dict[str, Any]) -> None:
    history = chats(given["messages"])
    costs = {
        id(message): 6 + 4 * (len(chat["content"]) if isinstance(chat["content"], list) else 1)
        for message, chat in zip(history, given["messages"], strict=True)
    }
    done = truncate(history, given["max_tokens"], lambda message: costs[id(message)])
    assert done.messages == [history[index] for index in expected.get("kept_indices", [])] and done.fits


@holds("aider-200")
def two_hundred_messages(given: dict[str, Any], expected: dict[str, Any]) -> None:
    history: list[ModelMessage] = []
    for index in range(100):
        history += [ask(f"Message {index}"), say(f"Response {index}")]
    _, done = compacted(asked(history))
    assert given["summary"] in texts(done.messages)[0] and 1 <= len(done.messages) < len(history)


@holds("cline-last-prompt")
def typed_prompts_survive(given: dict[str, Any], expected: dict[str, Any]) -> None:
    """Older prompts are quoted next to the summary; only the latest one is promised whatever the target."""
    history = chats(given["messages"])
    _, done = compacted(history)
    assert done.compaction is not None
    sent = "\n".join(texts(done.messages))
    assert all(prompt in sent for prompt in expected["typed_user_prompts"])
    smallest = truncate(history, given["target"], words)
    assert expected["typed_user_prompts"][-1] in texts(smallest.messages)


@holds("codex-drop-injected")
def only_the_user_speaks(given: dict[str, Any], expected: dict[str, Any]) -> None:
    *injected, real = given["user_role_messages"]
    governor = Governor(policy_of(LOADED["copilot"]), Window(tokens=10_000, known=True))
    said = [*(ask(text, **{REPLACES: 1}) for text in injected), ask(real)]
    kept = governor.user_messages_for(said, SummaryForm.FULL)
    assert kept is not None and list(kept.said) == expected["kept_as_user_words"]


@holds("pi-one-compaction", "pi-two-compactions")
def rebuilt(given: dict[str, Any], expected: dict[str, Any]) -> None:
    seqs: dict[str, int] = {}
    events = []
    live: list[str] = []
    for seq, step in enumerate(given["log"], 1):
        if isinstance(step, str):
            seqs[step] = seq
            live.append(step)
            fact: Message | CompactionComplete = Message(turn=seq, message=logged(step))
        else:
            gone = live[: live.index(step["first_kept"])]
            refs = tuple((seqs[text], 0) for text in gone)
            fact = CompactionComplete(success=True, replaced=refs, replacement=(logged(step["compaction"]),))
            live = live[len(gone) :]
        events.append(Event(session_id="s", seq=seq, timestamp="t", fact=fact))
    state = replay(events)
    assert [entry.message["parts"][0]["content"] for entry in state.history] == expected["context"]
    assert len(state.transcript) == len(seqs), "nothing is lost"


def logged(text: str) -> dict[str, Any]:
    return {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}


# Tool results


def with_result(content: str) -> list[ModelMessage]:
    call = ModelResponse(parts=[ToolCallPart("bash", {}, "b1")])
    result = ModelRequest(parts=[ToolReturnPart("bash", content, "b1")])
    return [ask("first"), call, result, say("done"), ask("second"), say("done"), ask("third")]


def result_in(messages: list[ModelMessage]) -> str:
    (part,) = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    return str(part.content)


@holds("opencode-prune")
def pruned(given: dict[str, Any], expected: dict[str, Any]) -> None:
    history = chats(given["messages"])
    long = ModelRequest(parts=[ToolReturnPart("bash", "x" * 200_000, "b1")])
    sent = Governed(LOADED["balanced"], 1_000_000).prepare([*history[:2], long, *history[3:]]).messages
    assert any(isinstance(part, ToolCallPart) and part.tool_call_id == "b1" for m in sent for part in m.parts)
    assert len(result_in(sent)) <= 30_000 and "left out" in result_in(sent)


@holds("gemini-disk-full")
def cannot_be_stored(given: dict[str, Any], expected: dict[str, Any]) -> None:
    """What the archive cannot name again it leaves as it is."""
    content = "d" * 170_000
    history = [*talk(10), *with_result(content)[:3], say("done"), ask("now?")]
    settings = LOADED["inkeep"].but(compaction="none")
    governed = Governed(settings, 1_000_000, keep=lambda part, text: text)
    assert result_in(governed.prepare(history).messages) == content
    _, done = compacted(history)
    assert done.compaction is not None


@holds("opencode-trunc-lines")
def stored_whole(given: dict[str, Any], expected: dict[str, Any]) -> None:
    """By characters, not by lines; the notice gives the whole length."""
    content = "\n".join(f"line{n}" for n in range(given["lines"]))
    limit = len("\n".join(content.splitlines()[: given["max_lines"]]))
    trimmed = result_in(trim(with_result(content), limit))
    assert trimmed == f"{content[:limit]}\n[…truncated, {len(content)} chars total]"
    stored: list[str] = []

    def keep(part: ToolReturnPart, text: str) -> str:
        stored.append(text)
        return "a reference"

    assert result_in(archive(with_result(content), limit, keep, 6)) == "a reference" and stored == [content]


@holds("opencode-trunc-head")
def beginning(given: dict[str, Any], expected: dict[str, Any]) -> None:
    content = "\n".join(f"line{n}" for n in range(10))
    trimmed = result_in(trim(with_result(content), len("\n".join(expected["contains"]))))
    assert all(line in trimmed for line in expected["contains"])
    assert not any(line in trimmed for line in expected["not"])


@holds("opencode-trunc-under")
def short_enough(given: dict[str, Any], expected: dict[str, Any]) -> None:
    history = with_result(given["content"])
    for done in (trim(history, 2_000), keep_ends(history, 2_000), truncate(history, 1_000, words).messages):
        assert result_in(done) == given["content"]


@holds("openhands-malformed")
def malformed_history(given: dict[str, Any], expected: dict[str, Any]) -> None:
    for body in (
        "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
        "messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01.",
        "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    ):
        wrapped = json.dumps({"error": {"type": "invalid_request_error", "message": body}})
        assert overflow.read(400, body) is None and overflow.read(400, wrapped) is None


# All of them


@pytest.mark.parametrize("name", sorted(RUNS.keys() & CASES.keys()))
def test_case(name: str) -> None:
    RUNS[name](CASES[name]["input"], CASES[name]["expected"])


def test_every_case_is_run_or_accounted_for() -> None:
    places = [set(RUNS), set(DOES_NOT_APPLY), set(TESTED_ELSEWHERE)]
    assert set(DUE) == set.union(*places)
    assert sum(map(len, places)) == len(DUE), "none stands in two places"


def test_what_is_tested_elsewhere_is() -> None:
    from tests.session.compaction import test_compaction, test_compaction_triggers

    found = {**vars(test_compaction), **vars(test_compaction_triggers)}
    assert set(TESTED_ELSEWHERE.values()) <= found.keys()
