"""Which lines come back after a rewrite: those that share a distinctive word, and none that a summary shows already."""

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from co_tui.context.compact.cuts import Cut
from co_tui.context.compact.offline_summary import summarise_offline
from co_tui.context.compact.replacement import Digest, build
from co_tui.context.journal.recollection import recollect
from co_tui.context.journal.sources import Sources
from co_tui.context.journal.work_record import WorkRecord
from co_tui.context.memory.ledger import Ledger
from co_tui.context.memory.transcript_lines import LINE_CHARS
from co_tui.context.policy import SummaryForm
from co_tui.events.triggers import Trigger


def prompt(text: str) -> ModelMessage:
    return ModelRequest(parts=[UserPromptPart(text)])


def answer(text: str) -> ModelMessage:
    return ModelResponse(parts=[TextPart(text)])


def recollected(gone: list[ModelMessage], live: list[ModelMessage], newest: list[ModelMessage]) -> str:
    """What comes back of the messages that are gone, when these replace them and the newest step follows."""
    whole = [*gone, *newest]
    ledger, work = Ledger(), WorkRecord()
    for message in whole:
        ledger.add(message)
        work.add(message)
    sources = Sources(ledger, work, frozenset(range(len(gone))), lambda numbers: [whole[n] for n in numbers])
    return recollect(sources, [*live, *newest], 2_000).text


@pytest.mark.parametrize(("names", "comes_back"), [(20, True), (99, True), (101, False)])
def test_a_word_in_up_to_a_hundred_names_brings_their_lines_back(names: int, comes_back: bool) -> None:
    """A word in more names says nothing about any of them; `voucher_now` of the newest step is one of the names."""
    gone = [prompt("go"), *[answer(f"voucher_{letters(n)} is set once") for n in range(names - 1)]]
    text = recollected(gone, [], [answer("I change voucher_now.")])
    assert ("voucher_" in text) == comes_back


def letters(number: int) -> str:
    """A suffix without digits: no part of it is a word of its own."""
    return chr(ord("a") + number // 26) + chr(ord("a") + number % 26)


LONG_LINE = ("# price_table " + "and what goes with it in many words " * 10)[: LINE_CHARS - 1] + "."
"""As long as a line can be; the marker that it is shown with makes it longer."""


@pytest.mark.parametrize(
    "line", ["the price_table is filled by load_prices", "# price_table first", LONG_LINE], ids=len
)
@pytest.mark.parametrize("form", [SummaryForm.FULL, SummaryForm.PAIR, SummaryForm.MARKER, SummaryForm.PROMPT])
def test_a_line_that_a_summary_carries_does_not_come_back(form: SummaryForm, line: str) -> None:
    gone = [prompt("go"), answer(line)]
    newest = [answer("Now price_table again.")]
    assert line in recollected(gone, [], newest), "without a summary it does"
    history = [*gone, prompt("next")]
    summary = summarise_offline(gone, 300, user_words=False)
    assert line in summary.text
    kept = build(form, history, Cut((0, 1), Trigger.MANUAL), Digest(summary.text)).applied(history)
    assert recollected(gone, kept, newest) == ""


def test_a_long_marked_line_next_to_a_summary_is_not_repeated() -> None:
    said = [prompt("go"), answer(LONG_LINE)]
    standing = summarise_offline(said, 300, user_words=False).text
    assert f"› {LONG_LINE}" in standing
    assert LONG_LINE not in summarise_offline(said, 300, user_words=False, standing=standing).text
