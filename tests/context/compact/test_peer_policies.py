"""The ways of other programs against what their documentation says: when they compact, what they keep and clear."""

from bisect import bisect_left

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

from co_tui.context.compact.decide import Plan, next_cut
from co_tui.context.compact.thresholds import thresholds_of
from co_tui.context.indexed_history import is_prompt
from co_tui.context.measure.count import Scaffold, Window
from co_tui.context.policy import policy_of
from co_tui.context.request.pipeline import Governor, Measured
from tests.context.request.test_pipeline import LOADED, PEERS

WINDOW = 20_000


def prompt(tokens: int = 10) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart("word " * tokens)])


def step(tokens: int, name: str) -> list[ModelMessage]:
    return [
        ModelResponse(parts=[ToolCallPart("run", {}, name)]),
        ModelRequest(parts=[ToolReturnPart("run", "word " * tokens, name)]),
    ]


def answer() -> ModelResponse:
    return ModelResponse(parts=[TextPart("done")])


def turns(count: int, result_tokens: int = 250, prompt_tokens: int = 10) -> list[ModelMessage]:
    found: list[ModelMessage] = []
    for number in range(count):
        found += [prompt(prompt_tokens), *step(result_tokens, f"c{number}"), answer()]
    return found


def one_turn(steps: int, result_tokens: int = 250) -> list[ModelMessage]:
    return [prompt(), *(message for number in range(steps) for message in step(result_tokens, f"c{number}"))]


class Seen:
    """A history under a policy."""

    def __init__(self, name: str, history: list[ModelMessage], window: int = WINDOW) -> None:
        self.history = history
        self.governor = Governor(policy_of(LOADED[name]), Window(tokens=window, known=True))
        self.measured: Measured = self.governor.measure(history, Scaffold())
        self.plan: Plan | None = self.governor.decide(self.measured)
        assert self.governor.policy_failure == ""

    @property
    def fill(self) -> float:
        return self.measured.reading.share

    @property
    def kept(self) -> list[int]:
        assert self.plan is not None
        return [index for index in range(len(self.history)) if index not in self.plan.cut.replaced]

    def tokens(self, indexes: list[int]) -> float:
        return sum(self.governor.meter.tokens(self.history[index]) for index in indexes)


def compacting(name: str) -> tuple[float, Seen]:
    """The fill before it compacts, and the moment it does."""

    def after(count: int) -> Seen:
        return Seen(name, [*turns(count), prompt()])

    first = bisect_left(range(100), True, key=lambda count: after(count).plan is not None)
    assert 0 < first < 100, f"{name} never compacts"
    return after(first - 1).fill, after(first)


@pytest.mark.parametrize(
    ("name", "share"),
    [("claude-code", 0.835), ("cline", 0.81), ("codex", 0.9), ("gemini-cli", 0.5), ("letta", 0.9), ("opencode", 0.9)],
)
def test_it_compacts_at_the_documented_fill_and_the_gauge_shows_it(name: str, share: float) -> None:
    before, seen = compacting(name)
    assert before < share <= seen.fill
    assert seen.plan is not None and seen.plan.waits, "none of them works in the background"
    assert thresholds_of(policy_of(LOADED[name]), WINDOW).share == share


@pytest.mark.parametrize("name", PEERS)
def test_asked_for_a_compaction_it_names_what_would_go_at_any_fill(name: str) -> None:
    seen = Seen(name, [*turns(19), prompt()])
    cut = next_cut(seen.governor.situation(seen.measured))
    assert seen.plan is None and cut is not None and cut.replaced and len(seen.history) - 1 not in cut.replaced


@pytest.mark.parametrize("name", PEERS)
def test_summaries_are_plain_and_nothing_of_ours_is_added(name: str) -> None:
    settings = LOADED[name]
    ours = (settings.compacted_share, settings.recollection_share)
    assert ours == (0, 0) and settings.summary_form == "marker" and settings.tool_output_trim_chars == 0


def test_claude_code_keeps_as_much_as_five_files_and_clears_results_first() -> None:
    _, seen = compacting("claude-code")
    newest = [index for index in seen.kept if index > seen.plan.cut.replaced[-1]]  # type: ignore[union-attr]
    assert seen.kept == newest and 0.08 * WINDOW < seen.tokens(newest) <= 0.125 * WINDOW
    settings = LOADED["claude-code"]
    assert settings.keep_recent_tokens == 5 * 5_000 and settings.clear_results_tokens == 100_000


def test_claude_code_compacts_within_a_long_turn() -> None:
    seen = Seen("claude-code", one_turn(70))
    assert seen.plan is not None and 0 in seen.kept, "only the prompt and the newest steps are left"


def test_codex_keeps_the_newest_of_the_users_messages_and_nothing_else() -> None:
    seen = Seen("codex", [*turns(40, 200, prompt_tokens=300), prompt()])
    assert all(is_prompt(seen.history[index]) for index in seen.kept)
    prompts = [index for index, message in enumerate(seen.history) if is_prompt(message)]
    assert seen.kept == prompts[-len(seen.kept) :] and 0.08 * WINDOW < seen.tokens(seen.kept) <= 0.1 * WINDOW
    large = Seen("codex", [*turns(110, 1_500, prompt_tokens=1_500), prompt()], window=300_000)
    assert 18_000 < large.tokens(large.kept) <= 20_000


def test_opencode_keeps_a_quarter_of_what_is_usable_and_at_most_15000_tokens() -> None:
    _, seen = compacting("opencode")
    assert 0.2 * WINDOW < seen.tokens(seen.kept) <= 0.225 * WINDOW
    large = Seen("opencode", [*turns(100, 1_900), prompt()], window=200_000)
    assert 12_000 < large.tokens(large.kept) <= 15_000
    assert LOADED["opencode"].clear_results_tokens == 0, "pruning is off by default"


def test_gemini_cli_keeps_the_newest_30_percent_by_whole_turns() -> None:
    _, seen = compacting("gemini-cli")
    share = seen.tokens(seen.kept) / seen.tokens(list(range(len(seen.history))))
    assert is_prompt(seen.history[seen.kept[0]]) and 0.2 < share <= 0.3
    assert Seen("gemini-cli", one_turn(60)).plan is None, "a long turn is never split"


def test_gemini_cli_masks_results_beyond_50000_tokens_once_they_are_30000() -> None:
    history = [*turns(40, 2_500), prompt()]

    def masked(count: int) -> int:
        request = Seen("gemini-cli", history[: 4 * count + 1], window=1_000_000).measured.request
        results = (part for message in request for part in message.parts if isinstance(part, ToolReturnPart))
        return sum(len(str(part.content)) <= 500 for part in results)

    assert (masked(20), masked(30)) == (0, 0) and 10 <= masked(36) <= 14


def test_cline_keeps_the_newest_tokens_and_always_the_current_turn() -> None:
    _, seen = compacting("cline")
    assert 0.07 * WINDOW < seen.tokens(seen.kept) <= 0.1 * WINDOW
    long = Seen("cline", [*turns(20), *one_turn(50)])
    assert long.kept == list(range(80, len(long.history)))


def test_openhands_counts_messages_and_keeps_the_first_four_and_the_newest() -> None:
    assert Seen("openhands", one_turn(39, 10)).plan is None, "79 messages"
    seen = Seen("openhands", [*one_turn(40, 10), answer(), prompt()])
    assert len(seen.history) == 83
    assert seen.kept[:5] == [0, 1, 2, 3, 4], "the fourth is a call: its result stays with it"
    assert seen.kept[5:] == list(range(83 - 36, 83)), "35, and the call of the first"


def test_openhands_halves_a_request_that_does_not_fit() -> None:
    seen = Seen("openhands", [*turns(10, 2_200), prompt()])
    assert seen.fill > 1 and 15 <= len(seen.kept) <= 21


def test_letta_summarises_30_percent_of_the_messages_up_to_a_reply() -> None:
    _, seen = compacting("letta")
    share = len(seen.kept) / len(seen.history)
    assert 0.65 <= share <= 0.75 and isinstance(seen.history[seen.kept[0]], ModelResponse)


def test_letta_takes_ten_percent_more_until_70_percent_of_the_window_are_left() -> None:
    seen = Seen("letta", [*turns(30, 40), *turns(15, 1_050), prompt()])
    assert len(seen.kept) / len(seen.history) < 0.4 and seen.tokens(seen.kept) <= 0.7 * WINDOW
