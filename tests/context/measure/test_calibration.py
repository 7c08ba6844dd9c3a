"""Whatever a provider's ratio and overhead are, and whatever becomes of the history: the count comes to agree."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from co_tui.context.measure.calibration import Calibration, Point
from co_tui.context.measure.count import Scaffold, Window, estimate_message, estimate_text
from co_tui.context.measure.meter import Meter

WINDOW = Window(tokens=1_000_000, known=True)
SCAFFOLD = Scaffold(instructions="Answer in short, and say what you do not know. " * 12)
WHOLE_NUMBERS = 10
"""What rounding may add up to, over two short replies."""
REPLY = "It does, as the tests in tests/test_module.py say."

turns = st.tuples(st.just("turn"), st.integers(15, 800))
changes = st.sampled_from([("clear", 0), ("resume", 0), ("switch tools", 0)]) | st.tuples(
    st.sampled_from(["rewind", "compact"]), st.integers(0, 50)
)


class Conversation:
    """A meter with a provider that counts `ratio` times as much as we estimate, and adds the same to each request."""

    def __init__(self, ratio: float, overhead: int) -> None:
        self.ratio, self.overhead = ratio, overhead
        self.meter = Meter()
        self.scaffold = SCAFFOLD
        self.history: list[ModelMessage] = []

    def true_tokens(self) -> int:
        fixed = estimate_text(self.scaffold.instructions)
        return round(self.ratio * (fixed + sum(map(estimate_message, self.history))) + self.overhead)

    def turn(self, words: int) -> tuple[int, int]:
        """Returns what was measured before it, and what the provider then said."""
        self.history.append(ModelRequest(parts=[UserPromptPart("word " * words)]))
        measured = self.meter.read(self.history, self.scaffold, WINDOW).current_tokens
        self.meter.sent(list(self.history), self.scaffold)
        tokens = self.true_tokens()
        reply = ModelResponse(parts=[TextPart(REPLY)])
        output = round(self.ratio * estimate_message(reply))
        reply.usage = RequestUsage(input_tokens=tokens, output_tokens=output)
        self.meter.reported(reply)
        self.history.append(reply)
        return measured, tokens

    def change(self, what: str, number: int) -> None:
        match what:
            case "clear":
                self.history = []
            case "rewind":
                self.history = self.history[: 2 * (number % (len(self.history) // 2 + 1))]
            case "compact":
                kept = self.history[2 * (number % (len(self.history) // 2 + 1)) :]
                self.history = [ModelRequest(parts=[UserPromptPart("Earlier: this and that.")]), *kept]
            case "switch tools":
                more = " Use the tool." if self.scaffold is SCAFFOLD else ""
                self.scaffold = Scaffold(instructions=SCAFFOLD.instructions + more)
            case _:
                learnt, self.meter = self.meter.as_json(), Meter()
                self.meter.restore(learnt)


@given(
    ratio=st.floats(0.4, 3.0),
    overhead=st.integers(0, 3_000),
    steps=st.lists(turns | changes, max_size=25),
)
def test_after_two_replies_it_is_within_a_twentieth(ratio: float, overhead: int, steps: list[tuple[str, int]]) -> None:
    talk = Conversation(ratio, overhead)
    for words in (40, 40):  # short ones: the least there is to learn from
        talk.turn(words)
    fixed = []
    for what, number in steps:
        if what == "turn":
            ours, theirs = talk.turn(number)
            assert abs(ours - theirs) <= 0.05 * theirs + WHOLE_NUMBERS
        else:
            talk.change(what, number)
        reading = talk.meter.read(talk.history, SCAFFOLD, WINDOW)
        fixed.append(reading.system_tokens)
    assert not fixed or max(fixed) <= 1.1 * min(fixed) + WHOLE_NUMBERS


FACTORS = st.floats(0.5, 2.5)
"""How many times our estimate a provider counts a kind of text."""
TOOL = ToolDefinition(name="read", description="Read a file of this folder. " * 30)


class Kinds(Conversation):
    """A provider that counts instructions, tools and what is said each in its own way."""

    def __init__(self, instructions: float, tools: float, said: float) -> None:
        super().__init__(said, 0)
        self.scaffold = Scaffold(instructions=SCAFFOLD.instructions, tools=[TOOL])
        self.fixed = instructions * self.scaffold.instructions_tokens + tools * self.scaffold.tools_tokens

    def true_tokens(self) -> int:
        return round(self.fixed + self.ratio * sum(map(estimate_message, self.history)))


@given(instructions=FACTORS, tools=FACTORS, said=FACTORS, steps=st.lists(turns | changes, min_size=1, max_size=25))
def test_constant_instructions_and_tools_read_constant(
    instructions: float, tools: float, said: float, steps: list[tuple[str, int]]
) -> None:
    """However a provider counts: the fixed part is learned from the first reply, and then only the rest changes."""
    talk = Kinds(instructions, tools, said)
    _, tokens = talk.turn(15)
    first = talk.meter.read(talk.history, talk.scaffold, WINDOW)
    assert abs(first.fixed_tokens - talk.fixed) <= tokens - talk.fixed + 0.1 * talk.fixed
    for what, number in steps:
        if what == "turn":
            talk.turn(number)
        elif what != "switch tools":
            talk.change(what, number)
        reading = talk.meter.read(talk.history, talk.scaffold, WINDOW)
        assert reading.system_tokens == first.system_tokens
        assert reading.tool_definition_tokens == first.tool_definition_tokens


@given(reports=st.lists(st.integers(1, 2_000_000), max_size=20), words=st.lists(st.integers(1, 3_000), min_size=20))
def test_no_report_however_wrong_brings_it_out_of_bounds(reports: list[int], words: list[int]) -> None:
    talk = Conversation(1.0, 0)
    for said, length in zip(reports, words, strict=False):
        talk.history.append(ModelRequest(parts=[UserPromptPart("word " * length)]))
        reading = talk.meter.read(talk.history, SCAFFOLD, WINDOW)
        parts = (reading.system_tokens, reading.conversation_tokens, reading.tool_definition_tokens)
        assert all(part >= 0 for part in parts) and 0.2 <= talk.meter.ratio <= 6
        talk.meter.sent(list(talk.history), SCAFFOLD)
        reply = ModelResponse(parts=[TextPart(REPLY)], usage=RequestUsage(input_tokens=said, output_tokens=5))
        talk.meter.reported(reply)
        talk.history.append(reply)


@pytest.mark.parametrize(
    ("report", "believed"),
    [
        (Point(5_000, 9_000), True),
        (Point(5_000, 400), False),  # a tenth of it: what was cached is not in it, perhaps
        (Point(5_000, 70_000), False),
        (Point(40, 3_000), True),  # a hidden system prompt
        (Point(40, 90_000), False),
        (Point(300, 3), False),
    ],
)
def test_a_report_is_believed_as_far_as_it_can_be_true(report: Point, believed: bool) -> None:
    known = Calibration().with_report(Point(1_000, 1_200)).with_report(Point(4_000, 4_500))
    assert known.is_credible(report) is believed


@pytest.mark.parametrize(
    ("ratio", "tokens", "believed"),
    [(0.25, 12_000, True), (0.25, 14_000, False), (5.9, 3_100, True), (5.9, 2_800, False)],
)
def test_a_report_ten_times_off_what_was_learned_is_not_believed(ratio: float, tokens: int, believed: bool) -> None:
    """Each of these is within what some provider might count, but not within what this one has counted so far."""
    known = (
        Calibration().with_report(Point(1_000, round(1_000 * ratio))).with_report(Point(4_000, round(4_000 * ratio)))
    )
    assert known.is_credible(Point(5_000, tokens)) is believed


@pytest.mark.parametrize("near", [1_020, 2_000, 10_000])
def test_a_shorter_request_does_not_replace_the_farthest_report(near: int) -> None:
    """After a rewind or a compaction the ratio is still that of the longest request, not of two that differ little."""
    known = Calibration().with_report(Point(1_000, 1_700)).with_report(Point(20_000, 34_000))
    line = known.with_report(Point(near, round(1.7 * near) + 60), continues=False).line()
    assert line.slope == pytest.approx(1.7) and line.overhead == pytest.approx(0.0, abs=1)


def test_an_interrupted_reply_is_not_believed() -> None:
    """A provider may report the input before the reply is whole; that figure is ignored."""

    def counted(usage: RequestUsage) -> tuple[int, float]:
        talk = Conversation(1.7, 300)
        talk.turn(100)
        talk.turn(200)
        talk.history.append(ModelRequest(parts=[UserPromptPart("word " * 100)]))
        talk.meter.sent(list(talk.history), SCAFFOLD)
        reply = ModelResponse(parts=[TextPart("half of a long reply " * 50)], usage=usage, state="interrupted")
        talk.meter.reported(reply)
        talk.history += [reply, ModelRequest(parts=[UserPromptPart("go on")])]
        return talk.meter.read(talk.history, SCAFFOLD, WINDOW).current_tokens, talk.meter.ratio

    assert counted(RequestUsage(input_tokens=2_400, output_tokens=1)) == counted(RequestUsage())


@pytest.mark.parametrize(
    "stored",
    [{}, {"lowest": 3}, {"lowest": [1, 2], "farthest": [1], "last": "x", "report": [1, "2", 3]}, {"report": 1}],
)
def test_what_was_stored_and_makes_no_sense_counts_for_nothing(stored: dict[str, Any]) -> None:
    meter = Meter()
    meter.restore(stored)
    assert meter.ratio == 1.0 and meter.overhead == 0.0


def test_one_report_alone() -> None:
    """The ratio explains what it can, a ratio learnt before is believed, and a tiny request says nothing."""
    assert Calibration().with_report(Point(500, 850)).line()[:2] == (1.7, 1.7)
    much = Calibration().with_report(Point(300, 1_800)).line()
    assert (much.ratio, much.overhead, much.slope_at_most) == pytest.approx((1.02, 1_494, 6.0))
    known = Calibration(1.7, True).with_report(Point(500, 1_850)).line()
    assert (known.ratio, known.overhead) == pytest.approx((1.734, 983))
    tiny = Calibration().with_report(Point(20, 90)).line()
    assert (tiny.ratio, tiny.overhead) == (1.0, 70)
