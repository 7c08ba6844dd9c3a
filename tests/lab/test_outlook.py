"""The lab's engine on a conversation as it is: what each policy would send, and what a compaction would leave."""

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from co_tui.agent.model_messages import message_json
from co_tui.context.measure.count import Scaffold
from co_tui.events import CompactionComplete, Event, Message
from co_tui.lab.outlook import outlook
from co_tui.session.lens.snapshot import LensSource, on_whole_conversation, stored_source
from co_tui.session.state.derive import apply
from co_tui.session.state.session_state import SessionState
from tests.context.request.test_pipeline import LOADED
from tests.support.long_run import LONG_RUN

WINDOW_TOKENS = 3_000


def conversation(turns: int) -> SessionState:
    state = SessionState(session_id="said", model="openai-chat:scripted", policy="balanced")
    messages: list[ModelMessage] = []
    for turn in range(turns):
        messages.append(
            ModelRequest(parts=[UserPromptPart(f"Question {turn}: what does src/module_{turn}.py do? " * 5)])
        )
        messages.append(ModelResponse(parts=[TextPart(f"It decided to call function_{turn}, as README.md says. " * 5)]))
    for seq, message in enumerate(messages, 1):
        fact = Message(turn=(seq + 1) // 2, message=message_json(message))
        state = apply(state, Event(session_id="said", seq=seq, timestamp="2026-01-01T00:00:00+00:00", fact=fact))
    return state


def source(state: SessionState, policy: str) -> LensSource:
    settings = LOADED[policy].but(context_window=WINDOW_TOKENS)
    return stored_source(state, settings, is_own=False)._replace(scaffold=Scaffold(instructions="Answer in short."))


def test_a_compaction_that_is_due_is_worked_out_and_changes_nothing() -> None:
    state = conversation(turns=21)
    seen = {name: outlook(source(state, name)) for name in LOADED}
    assert {name: each.lens.policy for name, each in seen.items()} == {name: name for name in LOADED}
    off, balanced, window = seen["off"], seen["balanced"], seen["co-cli"]
    assert off.compacted_tokens is None and (off.summarised, off.left_out) == (0, 0)
    assert off.lens.reading.current_tokens > 0.8 * WINDOW_TOKENS
    for each in (balanced, window):
        assert each.summarised and each.compacted_tokens is not None
        assert each.compacted_tokens < off.lens.reading.current_tokens
    assert window.summarised < balanced.summarised, "one keeps half of its messages, one a share of the window"
    assert len(state.history) == 42 and not state.compactions


def compacted(state: SessionState) -> SessionState:
    """The same after a compaction of all but the last turn."""
    summary = ModelRequest(parts=[UserPromptPart("[Earlier conversation, summarised]\nIt was about modules.")])
    fact = CompactionComplete(
        success=True,
        replaced=tuple(entry.ref for entry in state.history[:-2]),
        replacement=(message_json(summary),),
        summary="It was about modules.",
    )
    return apply(state, Event(session_id="said", seq=state.seq + 1, timestamp="2026-01-01T00:00:00+00:00", fact=fact))


def test_policies_are_compared_on_the_whole_conversation() -> None:
    """What a compaction left is nearly the same under all of them."""
    state = conversation(turns=21)
    later = compacted(state)
    assert len(later.history) == 3
    for name in LOADED if LONG_RUN else ("balanced", "co-cli", "inkeep", "copilot", "cowagent"):
        before, after = (outlook(on_whole_conversation(source(each, name))) for each in (state, later))
        assert before.lens.reading == after.lens.reading and before.compacted_tokens == after.compacted_tokens
        assert (before.summarised, before.left_out) == (after.summarised, after.left_out)
    assert not any(each.why == "summarised" for each in after.lens.left) and len(later.history) == 3


def test_a_short_conversation_is_the_same_under_all_policies() -> None:
    state = conversation(turns=2)
    seen = [outlook(source(state, name)) for name in LOADED]
    assert len({each.lens.reading.current_tokens for each in seen}) == 1
    assert {(each.compacted_tokens, each.smaller, each.summarised, each.left_out) for each in seen} == {(None, 0, 0, 0)}
