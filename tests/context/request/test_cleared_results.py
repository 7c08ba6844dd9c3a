"""Old tool results are cleared in steps, as some programs do; a replay clears the same."""

from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from co_tui.context.policy import policy_of
from co_tui.context.request.stages import Stages
from co_tui.context.request.tool_outputs import CLEARED, cleared_upto
from co_tui.settings import Settings

TEXT = "word " * 400
"""About 400 tokens."""


def calls(count: int) -> list[ModelMessage]:
    found: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("go")])]
    for number in range(count):
        found += [
            ModelResponse(parts=[ToolCallPart("run", {"n": number}, f"c{number}")]),
            ModelRequest(parts=[ToolReturnPart("run", f"{number} {TEXT}", f"c{number}")]),
        ]
    return found


def clearing(**numbers: Any) -> Stages:
    return Stages(policy_of(Settings(tool_output_trim_chars=0, **numbers)))


def results(stages: Stages, history: list[ModelMessage], **options: Any) -> list[str]:
    request = stages.run(history, **options).request
    return [str(part.content) for message in request for part in message.parts if isinstance(part, ToolReturnPart)]


def test_only_results_beyond_the_newest_tokens_are_cleared_and_in_steps() -> None:
    assert cleared_upto([100, 200, 300, 400], 200, 100) == 2
    assert cleared_upto([100, 200, 300, 399], 200, 100) == 1
    assert cleared_upto([100, 200, 300, 399], 200, 200) == 0
    assert cleared_upto([], 1, 1) == 0


def test_the_newest_results_stay_and_the_old_ones_say_that_they_were_cleared() -> None:
    found = results(clearing(clear_results_tokens=1_000, clear_results_step_tokens=800), calls(8))
    cleared = [text == CLEARED for text in found]
    assert cleared == sorted(cleared, reverse=True) and 2 <= sum(cleared) <= 5 and not any(cleared[-2:])
    shorter = results(
        clearing(clear_results_tokens=1_000, clear_results_step_tokens=800, cleared_result_chars=300), calls(8)
    )
    assert [len(text) <= 300 for text in shorter] == cleared
    assert TEXT in results(clearing(), calls(8))[0], "off unless a policy asks for it"


def test_a_growing_history_is_cleared_as_if_it_came_at_once() -> None:
    numbers = {"clear_results_tokens": 900, "clear_results_step_tokens": 700}
    whole, grown, lineage = calls(12), clearing(**numbers), object()
    seen = [results(grown, whole[: 1 + 2 * count], lineage=lineage) for count in range(1, 13)]
    assert seen == [results(clearing(**numbers), whole[: 1 + 2 * count]) for count in range(1, 13)]


def test_a_pinned_result_is_not_cleared() -> None:
    history = calls(8)
    found = results(clearing(clear_results_tokens=500, clear_results_step_tokens=100), history, pinned=[2])
    assert TEXT in found[0] and found[1] == CLEARED
