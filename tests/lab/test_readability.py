"""How well what stands for the past can be read."""

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from co_tui.lab.readability import Originals, Readability

CODE = [f"line {n} of the file does {n}" for n in range(10)]
LISTING = ["alpha.py", "beta.py", "gamma.py"]
RECORD = " ".join(f'"key{n}": "value of {n}",' for n in range(30))


def message(*lines: str) -> ModelMessage:
    return ModelRequest(parts=[UserPromptPart("\n".join(lines))])


@pytest.fixture
def said() -> list[ModelMessage]:
    reply = ModelResponse(parts=[TextPart("- first point made\n\n- second point made")])
    return [message(*CODE), message(*LISTING), message(RECORD), reply]


@pytest.fixture
def originals(said: list[ModelMessage]) -> Originals:
    originals = Originals()
    for each in said:
        originals.add(each)
    return originals


def read(originals: Originals, *lines: str) -> Readability:
    return originals.readability([message(*lines)])


def test_a_request_of_original_messages_has_nothing_to_read(originals: Originals, said: list[ModelMessage]) -> None:
    assert originals.readability(said) == Readability()
    assert originals.readability([message(*CODE)]) == Readability(), "an equal message is an original, too"


def test_neighbours_and_marked_gaps_are_joined(originals: Originals) -> None:
    passage = read(originals, *CODE[:3], "…", *CODE[5:7])
    assert (passage.pairs, passage.joined) == (4, 4)


def test_lines_with_an_unmarked_gap_are_not_joined(originals: Originals) -> None:
    soup = read(originals, CODE[0], CODE[2], CODE[5], CODE[6])
    assert (soup.pairs, soup.joined) == (3, 1)
    assert read(originals, CODE[4], CODE[2], CODE[0]).joined == 0


def test_heads_and_added_bullets_begin_an_entry(originals: Originals) -> None:
    entries = read(originals, "$ cat file → went well", CODE[1], "[tool returned]", CODE[7], f"- {CODE[3]}")
    assert (entries.pairs, entries.joined) == (0, 0)
    points = read(originals, "- first point made", "- second point made")
    assert (points.pairs, points.joined) == (1, 1), "their bullets are original"


def test_pieces_of_a_long_line_are_neighbours(originals: Originals) -> None:
    half = len(RECORD) // 2
    pieces = read(originals, RECORD[:half], RECORD[half:])
    assert (pieces.pairs, pieces.joined) == (1, 1)


def test_a_lone_word_has_no_neighbour(originals: Originals) -> None:
    assert read(originals, "beta.py", CODE[0], "596").lone_words == 2
    assert read(originals, *LISTING).lone_words == 0
    assert read(originals, *CODE).lone_words == 0


def test_an_original_line_that_comes_again_is_repeated(originals: Originals) -> None:
    assert read(originals, *CODE[:4]).repeated == 0
    assert read(originals, CODE[0], "…", "---", CODE[0], "…", "---").repeated == 1
    twice = originals.readability([message("[Summary]", *CODE[:2]), message("[Summary]", *CODE[:4])])
    assert (twice.repeated, twice.lines) == (2, 8), "over all that stands for the past"


@pytest.mark.parametrize(
    "header",
    [
        "[Earlier conversation, summarised]",
        "## Summary of the conversation so far",
        "<conversation_summary>",
        "This session is being continued from a previous conversation that ran out of context.",
    ],
)
def test_every_header_of_a_summary_counts(originals: Originals, header: str) -> None:
    assert originals.readability([message(header, CODE[0]), message(header, CODE[3])]).headers == 2


def test_other_marked_lines_are_no_header(originals: Originals) -> None:
    assert read(originals, "[Recollected: said earlier in this conversation]", "## Where the work stands").headers == 0


def test_lists_of_bare_names_are_counted_by_characters(originals: Originals) -> None:
    names = "also: load_config, Meter"
    listed = "[4 entries] a.py, b.py, c.py, d.py"
    prose = "It changed the loader, the meter, the cache, and then it ran the tests."
    assert read(originals, names).list_characters == len(names)
    assert read(originals, listed, prose).list_characters == len(listed)
    assert read(originals, "one, two, three", prose).list_characters == 0


def test_a_call_without_a_result_and_a_passage_of_one_line_are_counted(originals: Originals) -> None:
    counts = read(originals, "- read(a)", "- read(b)", f"    {CODE[0]}", f"    {CODE[1]}", "    …", f"    {CODE[4]}")
    assert (counts.heads, counts.bare_heads, counts.passages, counts.short_passages) == (2, 1, 2, 1)
    assert read(originals, "- read(a)", "    → 12 lines", "- run(b) → failed").bare_heads == 0


def test_the_lines_of_an_edit_are_originals(originals: Originals) -> None:
    counts = read(originals, "- edit(a)", f"    -{CODE[0]}", f"    +{CODE[1]}")
    assert (counts.bare_heads, counts.passages, counts.short_passages) == (0, 1, 0)
