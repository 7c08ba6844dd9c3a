"""Compaction starts exactly at a policy's threshold, and never replaces results that the model has not seen."""

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from co_tui.context.compact.decide import Plan
from co_tui.context.measure.count import Scaffold, Window
from co_tui.context.policy import policy_of
from co_tui.context.request.pipeline import Governor
from tests.context.request.test_pipeline import LOADED, asked, talk
from tests.support.governed import Governed

WINDOW_TOKENS = 8_000


def decided(policy: str, history: list[ModelMessage], tokens: int) -> Plan | None:
    """The policy's decision about a history that takes this many tokens of the window."""
    governor = Governor(policy_of(LOADED[policy]), Window(tokens=WINDOW_TOKENS, known=True))
    measured = governor.measure(history, Scaffold())
    reading = measured.reading._replace(system_tokens=0, tool_definition_tokens=0, conversation_tokens=tokens)
    return governor.decide(measured._replace(reading=reading))


@pytest.mark.parametrize(("policy", "share"), [("copilot", 0.8), ("inkeep", 0.5)])
def test_compaction_starts_exactly_at_the_threshold(policy: str, share: float) -> None:
    history, mark = asked(talk(40, "some output words " * 60)), int(share * WINDOW_TOKENS)
    assert decided(policy, history, mark - 1) is None
    assert decided(policy, history, mark) is not None


def test_the_request_waits_exactly_at_the_second_threshold() -> None:
    history, mark = asked(talk(40, "some output words " * 60)), int(0.95 * WINDOW_TOKENS)
    before, at = (decided("copilot", history, tokens) for tokens in (mark - 1, mark))
    assert before is not None and not before.waits
    assert at is not None and at.waits


def run_under_way() -> list[ModelMessage]:
    """A turn with many steps, after an earlier conversation that is too short to free anything."""
    steps: list[ModelMessage] = []
    for n in range(12):
        steps.append(ModelResponse(parts=[ToolCallPart("read", {"n": n}, f"c{n}")]))
        steps.append(ModelRequest(parts=[ToolReturnPart("read", f"finding {n} in src/module_{n}.py " * 60, f"c{n}")]))
    return [*talk(2), ModelRequest(parts=[UserPromptPart("look at all modules")]), *steps]


def test_a_run_is_compressed_exactly_at_its_threshold() -> None:
    history, mark = run_under_way(), int(LOADED["inkeep"].run_compression_low * WINDOW_TOKENS)
    assert decided("inkeep", history, mark - 1) is None
    assert decided("inkeep", history, mark) is not None


@pytest.mark.parametrize("share", [0.98, 0.99])
def test_results_the_model_has_not_seen_stay_when_a_request_cannot_wait(share: float) -> None:
    result = "a line of the result that nobody has read yet\n" * 200
    history = [
        *talk(40, "some output words " * 40),
        ModelRequest(parts=[UserPromptPart("read it")]),
        ModelResponse(parts=[ToolCallPart("read", {}, "new")]),
        ModelRequest(parts=[ToolReturnPart("read", result, "new")]),
    ]
    used = Governed(LOADED["off"], 10**6).measure(history).reading.current_tokens
    settings = LOADED["balanced"].but(keep_recent_share=0.05, compaction_waits="no")
    done = Governed(settings, int(used / share)).prepare(history)
    assert done.compaction is not None and not done.waited and done.compaction.trigger == "background"
    assert done.messages[-1].parts[0].content == result
