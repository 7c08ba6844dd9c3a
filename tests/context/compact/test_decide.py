"""When a compaction is begun: it frees a tenth of the conversation, and ends well below its mark (C15)."""

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

from co_tui.context.compact.decide import WELL_BELOW, frees_enough
from co_tui.context.indexed_history import Cut
from co_tui.context.measure.count import Scaffold, Window
from co_tui.context.policy import policy_of
from co_tui.context.request.pipeline import Governor
from co_tui.events.triggers import Trigger
from co_tui.settings import Settings
from tests.support.governed import Governed

WORDS = 4_000


def conversation(share_of_older: float) -> list:
    """Four older messages that hold about such a share of it, and a current turn with the rest."""
    older, current = int(WORDS * share_of_older / 4), int(WORDS * (1 - share_of_older))
    return [
        ModelRequest(parts=[UserPromptPart("first " * older)]),
        ModelResponse(parts=[TextPart("second " * older)]),
        ModelRequest(parts=[UserPromptPart("third " * older)]),
        ModelResponse(parts=[TextPart("fourth " * older)]),
        ModelRequest(parts=[UserPromptPart("word " * current)]),
    ]


def compacted(share_of_older: float, summary: str = "in short"):
    """What a request that has to wait does with such a conversation."""

    def summarise(messages, budget_tokens, *, user_words=True) -> str:
        return summary

    settings = Settings(keep_recent_share=0.0, summary_form="pair")
    history = conversation(share_of_older)
    used = Governed(settings, 10**6).measure(history).reading.current_tokens
    return Governed(settings, int(used * 1.01), summarise=summarise).prepare(history).compaction


@pytest.mark.parametrize("share", [0.03, 0.05, 0.08])
def test_less_than_a_tenth_is_not_compacted(share: float) -> None:
    assert compacted(share) is None


@pytest.mark.parametrize("share", [0.14, 0.3])
def test_more_than_a_tenth_is_not_begun_when_it_would_end_above_its_mark_again(share: float) -> None:
    assert compacted(share) is None


@pytest.mark.parametrize("share", [0.5, 0.7])
def test_what_ends_well_below_its_mark_is_compacted(share: float) -> None:
    done = compacted(share)
    assert done is not None and done.mark_tokens and done.post_tokens <= WELL_BELOW * done.mark_tokens


@pytest.mark.parametrize(("words", "worth"), [(2_100, False), (300, True)])
def test_what_the_summary_itself_takes_is_counted(words: int, worth: bool) -> None:
    assert (compacted(0.6, summary="brief " * words) is not None) == worth


def test_nothing_to_free_is_never_enough() -> None:
    governor = Governor(policy_of(Settings(keep_recent_share=0.0)), Window(tokens=10_000, known=True))
    measured = governor.measure(conversation(0.5), Scaffold())
    assert governor.decide(measured) is None, "it is far from full"
    situation = governor.situation(measured)
    assert not frees_enough(situation, Cut((), Trigger.BACKGROUND)) and frees_enough(
        situation, Cut((0, 1, 2, 3), Trigger.BACKGROUND)
    )


def test_a_request_is_stuck_once_compactions_are_stopped() -> None:
    history = conversation(0.7)
    used = Governed(Settings(), 10**6).measure(history).reading.current_tokens
    settings = Settings(keep_recent_share=0.0)
    governor = Governor(policy_of(settings), Window(tokens=int(used * 1.01), known=True))
    measured = governor.measure(history, Scaffold())
    assert governor.decide(measured) is not None and not governor.is_stuck(measured), "a compaction helps"
    governor.stop()
    assert governor.decide(measured) is None and governor.is_stuck(measured)
