"""What an index says of a history is what its messages say, read one by one; and growing is like reading it again."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.context.indexed_history import IndexedHistory, is_prompt
from co_tui.context.measure.count import Scaffold, Window
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import policy_of
from co_tui.context.request.pipeline import Governor
from co_tui.context.request.stages import Note
from co_tui.events.stored_messages import COMMAND, NOTE, RECOLLECTED, REPLACES
from co_tui.events.triggers import Trigger
from co_tui.lab.engine import ReplayEngine
from co_tui.settings import Settings
from tests.support.histories import histories
from tests.support.long_run import drawn


def answers(message: ModelMessage) -> bool:
    return any(isinstance(part, ToolReturnPart) for part in message.parts)


@settings(max_examples=drawn(20), deadline=None)
@given(histories, st.integers(0, 40))
def test_steps_and_cuts_separate_no_call_from_its_results(history: list[ModelMessage], index: int) -> None:
    indexed = IndexedHistory(history)
    border = min(index, len(history))
    while 0 < border < len(history) and answers(history[border]):
        border -= 1
    assert indexed.cut_before(index) == border
    assert indexed.turn_starts == [n for n, message in enumerate(history) if is_prompt(message)]
    steps = indexed.steps(0, len(history))
    assert [step.start for step in steps] == [n for n, m in enumerate(history) if isinstance(m, ModelResponse)]
    for step in steps:
        assert all(answers(history[n]) for n in step[1:])
        assert step.stop == len(history) or not answers(history[step.stop])
        assert all(indexed.step_around(n) == step for n in step)
    fixed = {n for n, m in enumerate(history) if any(isinstance(part, SystemPromptPart) for part in m.parts)}
    assert indexed.kept_by_rule() >= fixed | set(indexed.turn_starts[-1:])


@settings(max_examples=drawn(12), deadline=None)
@given(histories, st.integers(0, 40))
def test_kinds_that_are_known_are_not_read_again(history: list[ModelMessage], known: int) -> None:
    whole = IndexedHistory(history)
    assert IndexedHistory(history, whole.kinds[:known]).kinds == whole.kinds


PROMPT = UserPromptPart("do it")


@pytest.mark.parametrize("metadata", [{REPLACES: 3}, {COMMAND: "ls"}, {NOTE: "hook"}, {RECOLLECTED: "earlier"}])
def test_what_the_user_did_not_write_begins_no_turn(metadata: dict[str, object]) -> None:
    assert is_prompt(ModelRequest(parts=[PROMPT])) and is_prompt(ModelRequest(parts=[PROMPT], metadata={"other": 1}))
    assert not is_prompt(ModelRequest(parts=[PROMPT], metadata=metadata))
    both = ModelRequest(parts=[PROMPT, UserPromptPart("earlier")], metadata={RECOLLECTED: "earlier"})
    assert is_prompt(both), "a prompt with a recollected note"


def test_the_first_run_keeps_the_results_of_its_calls() -> None:
    first = ModelResponse(parts=[TextPart("I look."), ToolCallPart("look", {}, "c")])
    seen = ModelRequest(parts=[ToolReturnPart("look", "seen", "c")])
    rest = [ModelResponse(parts=[TextPart(f"answer {n}")]) for n in range(20)]
    cut = IndexedHistory([ModelRequest(parts=[PROMPT]), first, seen, *rest]).window_cut(10)
    assert cut is not None and cut.replaced[0] == 3


def test_a_summary_alone_is_not_summarised_again() -> None:
    summary = ModelRequest(parts=[UserPromptPart("in short")], metadata={REPLACES: 3})
    reply, prompt = ModelResponse(parts=[TextPart("yes")]), ModelRequest(parts=[PROMPT])
    assert IndexedHistory([summary, prompt]).share_cut(Trigger.BLOCKING) is None
    assert IndexedHistory([summary, reply, prompt]).share_cut(Trigger.BLOCKING) is not None


def test_a_prompt_leaves_with_its_answer_and_not_before() -> None:
    prompt, said = ModelRequest(parts=[PROMPT]), TextPart("I look.")
    call, seen = ToolCallPart("look", {}, "c"), ModelRequest(parts=[ToolReturnPart("look", "seen", "c")])
    look, done = ModelResponse(parts=[said, call]), ModelResponse(parts=[TextPart("done")])
    answered: list[ModelMessage] = [prompt, look, seen, done]
    for newest, tail, is_kept in (
        (answered, 0, False),
        (answered, 1, True),
        (answered[:3], 0, True),
        (answered[:2], 0, True),
        ([*answered[:3], replace(done, state="interrupted")], 0, True),
        ([*answered, prompt], 0, True),
    ):
        history = IndexedHistory([prompt, done, *newest])
        cut = history.share_cut(Trigger.BACKGROUND, keep_from=len(history) - tail)
        assert cut is not None and (history.latest_prompt not in cut.replaced) is is_kept


def turns(count: int) -> list[ModelMessage]:
    """Each with two steps and long results; a command of the user follows."""
    history: list[ModelMessage] = []
    for n in range(count):
        history.append(ModelRequest(parts=[UserPromptPart(f"question {n}")]))
        for call in (f"{n}a", f"{n}b"):
            history.append(ModelResponse(parts=[ToolCallPart("read", {}, call)]))
            history.append(ModelRequest(parts=[ToolReturnPart("read", f"{call} words " * 80, call)]))
        history.append(ModelResponse(parts=[TextPart(f"answer {n}")]))
        history.append(ModelRequest(parts=[UserPromptPart("listed")], metadata={COMMAND: "ls"}))
    return history


SHORTENING = [
    {"tool_output_trim_chars": 300},
    {"head_tail_chars": 300},
    {"archive_over_chars": 300},
    {"clear_results_tokens": 400, "clear_results_step_tokens": 200},
    {"tool_output_trim_chars": 500, "head_tail_chars": 300},
]


@pytest.mark.parametrize("numbers", SHORTENING, ids=lambda numbers: "+".join(numbers))
@pytest.mark.parametrize("pins", [{}, {3: (2,), 9: (2, 4), 14: (4,), 16: ()}], ids=["nothing pinned", "pins change"])
@pytest.mark.parametrize("notes", [{}, {4: Note(2, "a note"), 12: None}], ids=["no note", "a note"])
def test_a_growing_history_is_shortened_like_one_read_again(numbers, pins, notes) -> None:
    policy = policy_of(Settings().but(**numbers))
    window, lineage = Window(tokens=1_000_000, known=True), object()
    growing, history = Governor(policy, window), turns(4)
    pinned: tuple[int, ...] = ()
    note: Note | None = None
    shortened = False
    for count in range(1, len(history) + 1):
        pinned, note = pins.get(count, pinned), notes.get(count, note)
        fast = growing.measure(history[:count], Scaffold(), lineage, pinned, note)
        slow = Governor(policy, window).measure(history[:count], Scaffold(), None, pinned, note)
        assert fast == slow, count
        shortened = shortened or any(a is not b for a, b in zip(fast.request, fast.live, strict=True))
    assert shortened


def test_each_measurement_is_decided_on_by_itself() -> None:
    governor = Governor(policy_of(Settings()), Window(tokens=2_000, known=True))
    full, empty = (governor.measure(turns(count), Scaffold()) for count in (6, 1))
    assert [governor.decide(full) is not None, governor.decide(empty) is not None] == [True, False]
    assert governor.situation(full).is_past_threshold and not governor.situation(empty).is_past_threshold


def test_each_scaffold_is_counted() -> None:
    meter, window = Meter(), Window(tokens=10_000, known=True)
    none, much = Scaffold(), Scaffold(instructions="Always be brief. " * 50)
    system = [meter.read(turns(1), each, window).system_tokens for each in (none, much, none)]
    assert system[1] > 100 and system[0] == system[2] == 0


async def test_what_is_pinned_later_counts_with_the_next_request() -> None:
    engine, history = ReplayEngine(policy_of(Settings()), Window(tokens=1_000_000, known=True)), turns(2)
    for message in history:
        await engine.add(message, 1)
    found = []
    for index in (0, 5, None):
        if index is not None:
            await engine.pin([history[index]])
        else:
            await engine.add(ModelRequest(parts=[PROMPT]), 2)
        found.append(tuple((await engine.history.measure()).pinned))
    assert found == [(0,), (0, 5), (0, 5)]
