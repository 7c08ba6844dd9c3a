"""What a rewritten request holds, and that the next ones begin as it did: the journal, the note, what is out."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from co_tui.context.indexed_history import EARLIER, is_prompt
from co_tui.context.journal.entries import GAP, Kind
from co_tui.context.journal.recollection import RECOLLECTED_FROM_EARLIER, replacement_texts
from co_tui.context.journal.shown_lines import bare_lines
from co_tui.context.measure.count import estimate_text
from co_tui.context.request.pipeline import LEAST_NOTE_OF_A_STEP_TOKENS, MOST_LEFT_SHARE
from co_tui.events import Recollection
from co_tui.events.event import decode, encode
from co_tui.events.stored_messages import JOURNAL, NOT_A_HEADING, RECOLLECTED, REPLACES, SUMMARY
from co_tui.exchange.exporters.story import exported_event
from co_tui.lab.check import breaches
from co_tui.session.compaction import prepare
from co_tui.session.state import derive
from co_tui.session.state.session_state import SessionState
from tests.context.request.test_pipeline import LOADED
from tests.support.governed import Governed
from tests.support.long_run import also_in_a_long_run, drawn

WINDOW = 8_000
PARTS = ("cart", "order", "stock", "tax", "user", "mail", "search", "report", "login", "refund", "basket", "voucher")


def step(n: int, lines: int = 12) -> list[ModelMessage]:
    """Work on one of some parts, again and again."""
    part = PARTS[n % len(PARTS)]
    result = "\n".join(f"{k}: {part}_row_{n}_{k} = price_{n}(item_{n}_{k}, total_{n}_{k})" for k in range(lines))
    call = ToolCallPart("read", {"path": f"src/{part}_view.py"}, tool_call_id=f"c{n}")
    text = TextPart(f"I look at {part}_view and at {part}_model_{n} once more.")
    return [
        ModelResponse(parts=[text, call]),
        ModelRequest(parts=[ToolReturnPart("read", result, tool_call_id=f"c{n}")]),
    ]


def work(steps: int, lines: int = 12) -> list[ModelMessage]:
    asked: ModelMessage = ModelRequest(parts=[UserPromptPart("Make the shop faster; always keep the tests green.")])
    return [asked, *(message for n in range(steps) for message in step(n, lines))]


def requests_of(governed: Governed, history: Sequence[ModelMessage]) -> list[list[ModelMessage]]:
    """A request before each reply, as the conversation continues."""

    async def all_of() -> list[list[ModelMessage]]:
        sent = []
        for n, message in enumerate(history):
            if isinstance(message, ModelResponse) and n:
                sent.append((await governed.engine.request()).prepared.messages)
            await governed.engine.receive(message)
        return sent

    return governed._loop.run_until_complete(all_of())


def note_of(request: Sequence[ModelMessage]) -> str:
    notes = [
        m.metadata[RECOLLECTED] for m in request if isinstance(m, ModelRequest) and RECOLLECTED in (m.metadata or {})
    ]
    assert len(notes) <= 1
    return str(notes[0]) if notes else ""


def texts_of(message: ModelMessage) -> list[str]:
    return [part.content for part in message.parts if isinstance(getattr(part, "content", None), str)]


def passages_in(note: str) -> set[str]:
    """The original lines that a note shows, without marks."""
    lines = note.removeprefix(RECOLLECTED_FROM_EARLIER).splitlines()
    shown = (line for line in lines if line.startswith(("  ", f"{Kind.SAID}: ")) and not line.endswith(GAP))
    return bare_lines("\n".join(shown))


def balanced(**changes: object) -> Governed:
    return Governed(LOADED["balanced"].but(**changes), WINDOW)


def test_after_a_rewrite_lines_that_bear_on_the_newest_step_come_back_and_stay() -> None:
    governed = balanced(recollection_share=0.15)
    requests = requests_of(governed, work(60, lines=8))
    notes = [note_of(request) for request in requests]
    assert sum(bool(note) for note in notes) > 10 and len(set(filter(None, notes))) > 2
    facts = [e.fact for e in governed.engine.history.state.timeline if isinstance(e.fact, Recollection)]
    assert set(filter(None, notes)) == {fact.note for fact in facts}
    for before, after in pairwise(requests):
        if note_of(before) and after[: len(before)] == before:
            assert note_of(after) == note_of(before)
        if note := note_of(after):
            (beside,) = (m for m in after if RECOLLECTED in (getattr(m, "metadata", None) or {}))
            others = "\n".join(text for m in after if m is not beside for text in texts_of(m))
            assert passages_in(note) and not passages_in(note) & bare_lines(others)
            assert not is_prompt(beside) or len(beside.parts) > 1


def test_within_a_turn_nothing_comes_back_as_a_fragment() -> None:
    """For a prompt it does: see the tests of the lens."""
    for share, is_room in ((LEAST_NOTE_OF_A_STEP_TOKENS / WINDOW - 0.001, False), (0.15, True)):
        governed = balanced(recollection_share=share)
        assert any(map(note_of, requests_of(governed, work(60, lines=8)))) is is_room


def marked_work(steps: int) -> list[ModelMessage]:
    """Results with lines that look like headings, which are shown with a marker; many are said more than once."""
    history = work(1)
    for n in range(steps):
        part, again = PARTS[n % len(PARTS)], n // 24
        signs = ("# ", "* ", "[x] ", "")
        result = "\n".join(f"{signs[k % 4]}{part}_row_{again}_{k} = price_{again}(item_{again}_{k})" for k in range(8))
        said, answered = step(n + 1)
        assert isinstance(said, ModelResponse)
        decided = TextPart(
            f"# {part}_plan for {part}_model\n* {part}_view is decided\n## I look at {part}_model_{n} once more."
        )
        part_returned = replace(answered.parts[0], content=result)
        history += [replace(said, parts=[decided, said.parts[-1]]), replace(answered, parts=[part_returned])]
    return history


def test_a_marked_line_is_known_to_be_in_the_request_already() -> None:
    notes = set()
    for request in requests_of(balanced(recollection_share=0.15), marked_work(40)):
        shown = [line for text in replacement_texts(request) for line in marked_in(text)]
        assert len(shown) == len(set(shown))
        if note := note_of(request):
            notes.add(note)
            assert not set(shown) & set(marked_in(note))
    assert any(map(marked_in, notes))


def marked_in(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip().startswith(NOT_A_HEADING)]


def test_without_a_share_for_it_nothing_comes_back() -> None:
    assert not any(map(note_of, requests_of(balanced(recollection_share=0.0), work(40))))


def holds_summary(message: ModelMessage) -> bool:
    return {REPLACES, SUMMARY} <= (message.metadata or {}).keys()


def journals_in(requests: Sequence[Sequence[ModelMessage]]) -> list[ModelRequest]:
    """Each journal that was sent, in order; a request has at most one."""
    found: list[ModelRequest] = []
    for request in requests:
        journals = [m for m in request if isinstance(m, ModelRequest) and holds_summary(m)]
        assert len(journals) <= 1
        if journals and journals != found[-1:]:
            found += journals
    return found


def chatty_work(steps: int) -> list[ModelMessage]:
    """Results of which few lines are worth a place, so that a journal has room for more."""
    history = work(1)
    for n in range(1, steps):
        said, answered = step(n)
        result = "\n".join((f"{PARTS[n % 12]}_row_{n} is done", *["nothing to be seen here at all"] * 60))
        history += [said, replace(answered, parts=[replace(answered.parts[0], content=result)])]
    return history


def test_a_journal_keeps_its_text_while_there_is_room_for_more() -> None:
    journals = journals_in(requests_of(balanced(), chatty_work(60)))
    texts = [text for journal in journals for text in texts_of(journal)]
    assert len(texts) > 3
    assert all(after.startswith(f"{before}\n") for before, after in pairwise(texts))
    blocks = [len(journal.metadata[JOURNAL]["blocks"]) for journal in journals if journal.metadata]
    assert blocks == list(range(1, len(journals) + 1))


def test_a_journal_without_room_is_written_anew_as_one_and_the_latest_steps_that_left_keep_their_heads() -> None:
    journals = journals_in(requests_of(balanced(), work(60)))
    texts = [text for journal in journals for text in texts_of(journal)]
    assert any(not after.startswith(before) for before, after in pairwise(texts))
    assert all(text.count(EARLIER) == 1 and estimate_text(text) < MOST_LEFT_SHARE * WINDOW for text in texts)
    for journal, text in zip(journals, texts, strict=True):
        assert journal.metadata
        last = journal.metadata[JOURNAL]["covers"][-1][1] // 2
        heads = [line for line in text.splitlines() if line.startswith("- read(")]
        parts = [PARTS[n % len(PARTS)] for n in range(last - 10, last)]
        assert [head.split("src/")[1].split("_view")[0] for head in heads[-10:]] == parts


def test_what_is_under_way_is_reported_once_and_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = ("- [ ] first", "- [x] first")
    told = iter([plans[0]] * 3 + [plans[1]] * 200)
    monkeypatch.setattr(prepare, "carried_on", lambda *_: {"The plan": next(told)})
    last = requests_of(balanced(), work(50))[-1]
    texts = [str(part.content) for m in last for part in m.parts if isinstance(part, UserPromptPart)]
    assert sum(plans[1] in text for text in texts) == 1 and not any(plans[0] in text for text in texts)


def test_what_was_left_out_stays_out_until_the_history_is_rewritten() -> None:
    """Under a policy that cannot compact within a turn, every request is truncated; most begin as the one before."""
    governed = Governed(LOADED["copilot"].but(truncation_headroom=0.3, truncation="on"), WINDOW)
    requests = requests_of(governed, work(50))
    same = sum(after[: len(before)] == before for before, after in pairwise(requests))
    assert same > 0.7 * len(requests) and len(requests[-1]) < len(requests)


def continued(governed: Governed, policy: str) -> Governed:
    """Another process that has read the same log."""
    other = Governed(LOADED[policy], WINDOW)
    left = governed.engine._compactor.settle(governed.engine.history, timeout_s=5)
    governed._loop.run_until_complete(left)

    async def tell() -> None:
        for event in governed.engine.logged():
            await other.engine._recorder.record(event.fact)

    other._loop.run_until_complete(tell())
    return other


@pytest.mark.parametrize("policy", also_in_a_long_run(["balanced"], ["copilot", "inkeep"]))
@settings(max_examples=drawn(2), deadline=None)
@given(steps=st.integers(10, 40), lines=st.integers(4, 40), data=st.data())
def test_another_process_continues_with_the_same_requests(
    policy: str, steps: int, lines: int, data: st.DataObject
) -> None:
    """The note and what is left out are in the log: resumed anywhere, what is sent is what would have been sent."""
    resumed_as_live(policy, steps, lines, said_steps=data.draw(st.integers(2, steps - 1)))


@pytest.mark.parametrize(("steps", "lines", "said_steps"), [(26, 9, 24), (30, 9, 28)])
def test_a_search_that_found_nothing_is_not_repeated_by_another_process(
    steps: int, lines: int, said_steps: int
) -> None:
    resumed_as_live("balanced", steps, lines, said_steps)


def test_a_search_that_found_nothing_is_logged_but_shown_nowhere() -> None:
    governed = balanced(recollection_share=0.03)
    requests_of(governed, work(26, 9))
    events = governed.engine.logged()
    empty = [event for event in events if isinstance(event.fact, Recollection) and not event.fact.lines]
    assert empty
    timeline = [event.fact for event in governed.engine.history.state.timeline]
    for event in empty:
        assert event.fact not in timeline and event.fact.entry() is None
        assert exported_event(event) is None and decode(encode(event)) == event


def test_a_log_without_the_searches_that_found_nothing_replays_as_before() -> None:
    """Older versions did not log them: what came back and what is left out is the same without them."""
    governed = balanced(recollection_share=0.03)
    requests_of(governed, work(40, 9))
    now = governed.engine.history.state
    older = SessionState()
    for event in governed.engine.logged():
        if not (isinstance(event.fact, Recollection) and not event.fact.lines):
            older = derive.apply(older, event)
    for name in ("history", "timeline", "recollection", "held_out", "compactions", "usage"):
        assert getattr(older, name) == getattr(now, name), name


def resumed_as_live(policy: str, steps: int, lines: int, said_steps: int) -> None:
    """Another process that resumes after some steps sends what the live one sends."""
    governed = Governed(LOADED[policy], WINDOW)
    history = work(steps, lines)
    cut = 1 + 2 * said_steps
    for upto, request in enumerate(requests_of(governed, history[:cut])):
        assert breaches(history[: 1 + 2 * upto], request, fits=True) == []
    other = continued(governed, policy)
    here, there = requests_of(governed, history[cut:]), requests_of(other, history[cut:])
    assert [as_text(request) for request in here] == [as_text(request) for request in there]


def as_text(request: Sequence[ModelMessage]) -> list[str]:
    return [str([getattr(part, "content", None) or getattr(part, "args", None) for part in m.parts]) for m in request]


def test_a_cleared_context_brings_nothing_back() -> None:
    governed = balanced(recollection_share=0.15)
    requests = requests_of(governed, work(60, lines=8))
    assert any(map(note_of, requests))
    engine = governed.engine
    governed._loop.run_until_complete(engine.clear())
    after = requests_of(governed, work(3))
    assert not any(map(note_of, after)) and not any(holds_summary(m) for request in after for m in request)
    assert all("total_30_" not in text for request in after for text in as_text(request))
