"""What people read is short, and in plain words."""

import re
from functools import cache
from pathlib import Path

from tests.sentences import Sentence, in_source, sentences
from tests.support.cases import each_case

ROOT = Path(__file__).parent.parent
LONGEST = 90
"""Characters of a label, notice, description or setting."""
LONGEST_SENTENCE = 120
"""Characters of a sentence in a longer text, such as an error with advice."""
ODD_WORDS = re.compile(
    r"\b((?<!work )stands|lies|goes on|whoever|whom|nobody|somebody|beside|takes back|told)\b", re.IGNORECASE
)
LONG_ON_PURPOSE = (
    "`co-tui help` explains topics",  # below all options of --help
    "context       …",  # a table
)
TABLES = (
    "co_tui/agent/wire/rules/wires.py",  # the providers' words
    "co_tui/agent/permissions/program_table.py",  # names of options
    "co_tui/agent/permissions/git_table.py",
)


@cache
def all_sentences() -> tuple[Sentence, ...]:
    return tuple(each for each in sentences() if each.file not in TABLES)


def test_the_list_has_every_kind_of_sentence() -> None:
    kinds = {each.kind for each in all_sentences()}
    assert kinds == {"notice", "help", "setting", "label", "error", "text"} and len(all_sentences()) > 1_000
    assert {"co_tui/cli/arguments.py", "co_tui/headless/doctor.py", "co_tui/settings/all_settings.py"} <= {
        each.file for each in all_sentences()
    }


def test_no_sentence_has_odd_words() -> None:
    assert [_shown(each) for each in all_sentences() if ODD_WORDS.search(each.text)] == []


def test_no_label_or_notice_is_long() -> None:
    short = [each for each in all_sentences() if each.kind in ("notice", "help", "setting", "label")]
    assert [
        _shown(each)
        for each in short
        for line in each.text.splitlines()
        if len(line) > LONGEST and not each.text.startswith(LONG_ON_PURPOSE)
    ] == []


def test_no_sentence_is_long() -> None:
    ours = (each for each in all_sentences() if not each.text.startswith(LONG_ON_PURPOSE))
    parts = ((each, part) for each in ours for part in re.split(r"(?<=[.?!]) |\n", each.text))
    assert [_shown(each) for each, part in parts if len(part) > LONGEST_SENTENCE] == []


@each_case(
    ("source", "found"),
    [
        ('notify("Saved.")', []),
        ('notify("Saved to disk.")', [("notice", "Saved to disk.")]),
        ('raise Refused(f"Cannot read {path}: {why}.")', [("error", "Cannot read …: ….")]),
        ('add_argument("--x", help="the number of rows")', [("help", "the number of rows")]),
        (
            'x: Annotated[int, About("files", "Kept files", "Most files kept.")] = 1',
            [("setting", "Kept files"), ("setting", "Most files kept.")],
        ),
        ('"""Not a sentence for people."""', []),
        ('re.compile("one or two")', []),
        ('def f() -> "Row | None": ...', []),
    ],
)
def test_sentences_are_found_where_they_are_written(source: str, found: list[tuple[str, str]]) -> None:
    assert [(each.kind, each.text) for each in in_source(source, "x.py")] == found


def _shown(each: Sentence) -> str:
    return f"{each.file}:{each.line} {each.text!r}"


def test_percentages_are_written_one_way() -> None:
    """`4 %`, by `percent` in `events/wording.py`; a style of Textual has its own spelling."""
    spelled = re.compile(r"\{[^{}]*:[^{}]*\.\d%\}")
    found = {
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in (ROOT / "co_tui").rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if spelled.search(line) and file.name != "question_text.py"
    }
    assert not found
