"""Sheets for readers, marks for a grader, and the table of what was right."""

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import sqrt
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.readers.cases import as_json

RIGHT, WRONG, INVENTED, UNKNOWN = "right", "wrong", "invented", "unknown"
MARKS: Final = (RIGHT, WRONG, INVENTED, UNKNOWN)
SURE: Final = 1.96
"""Standard errors to each side of a share, for 95 %."""
TASK: Final = """\
You take over this work here. Below is all you get. Answer from it alone; write "unknown" where it does not say.
Then say from 1 to 5 how well you could take over: 1 is not at all, 5 is as if you had been there.
"""


class BadSheet(Exception):
    """Something is missing or not as it should be; says what."""


def write_sheets(folder: Path, readers: int) -> int:
    """Write each reader's sheets, one condition a point, and who got what; returns how many sheets."""
    questions = _questions(folder)
    conditions = sorted({file.stem.partition(" ")[2] for file in (folder / "conditions").glob("*.md")})
    got: dict[str, dict[str, str]] = {}
    for reader in range(readers):
        name = f"reader-{reader + 1}"
        blank = {}
        got[name] = {}
        for at, (point, asked) in enumerate(questions.items()):
            # Each reader has all conditions equally often, and each point is read under as many as there are readers.
            condition = conditions[(at + reader) % len(conditions)]
            got[name][point] = condition
            text = (folder / "conditions" / f"{point} {condition}.md").read_text(encoding="utf-8")
            listed = "\n".join(f"{number}. {each['question']}" for number, each in enumerate(asked, 1))
            sheet = f"{TASK}\n{listed}\n\n{'=' * 60}\n\n{text}\n"
            (folder / name).mkdir(exist_ok=True)
            (folder / name / f"{point}.md").write_text(sheet, encoding="utf-8")
            blank[point] = {"answers": [""] * len(asked), "take_over": 0}
        (folder / name / "answers.json").write_text(as_json(blank), encoding="utf-8")
    (folder / "key.json").write_text(as_json(got), encoding="utf-8")
    return sum(map(len, got.values()))


class _Answer(NamedTuple):
    condition: str
    question: str
    right: str
    answer: str

    @property
    def shown(self) -> dict[str, str]:
        """Without its condition."""
        return {"question": self.question, "right answer": self.right, "answer": self.answer}


def write_marks(folder: Path) -> int:
    """Write all answers in a mixed order for someone who does not know the conditions; returns how many."""
    answers = list(_answers(folder))
    marks = [{**answer.shown, "mark": ""} for answer in _mixed(answers)]
    (folder / "marks.json").write_text(as_json(marks), encoding="utf-8")
    return len(marks)


def table(folder: Path) -> str:
    """The share of right answers, of invented ones, and how well readers could take over, by condition."""
    answers = _mixed(list(_answers(folder)))
    marks = json.loads((folder / "marks.json").read_text(encoding="utf-8"))
    if [each.shown for each in answers] != [{key: row[key] for key in row if key != "mark"} for row in marks]:
        raise BadSheet("marks.json does not fit the answers. Write it again with `marks`.")
    if unmarked := [at for at, row in enumerate(marks, 1) if row["mark"] not in MARKS]:
        raise BadSheet(f"Row {unmarked[0]} of marks.json has no mark. Use one of {', '.join(MARKS)}.")
    given: dict[str, list[str]] = defaultdict(list)
    for answer, row in zip(answers, marks, strict=True):
        given[answer.condition].append(row["mark"])
    rows = ["| condition | answers | right | invented | take over (1 to 5) |", "|---|---|---|---|---|"]
    by_share = sorted(given.items(), key=lambda each: -_share(each[1], RIGHT))
    takes = _take_overs(folder)
    for condition, marked in by_share:
        share = _share(marked, RIGHT)
        around = SURE * sqrt(share * (1 - share) / len(marked))
        taken = sum(takes[condition]) / len(takes[condition])
        invented = f"{_share(marked, INVENTED):.1%}"
        rows.append(f"| {condition} | {len(marked)} | {share:.1%} ± {around:.1%} | {invented} | {taken:.2f} |")
    return "\n".join(rows)


def _share(marks: list[str], mark: str) -> float:
    return marks.count(mark) / len(marks)


def _take_overs(folder: Path) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for reader, points in _key(folder).items():
        given = _given(folder, reader)
        for point, condition in points.items():
            found[condition].append(given[point]["take_over"])
    return found


def _answers(folder: Path) -> Iterator[_Answer]:
    questions = _questions(folder)
    for reader, points in _key(folder).items():
        given = _given(folder, reader)
        for point, condition in points.items():
            read = given.get(point, {})
            if len(read.get("answers", ())) != len(questions[point]) or read.get("take_over") not in range(1, 6):
                raise BadSheet(f"{reader}/answers.json: point {point} lacks answers or a number from 1 to 5.")
            for asked, answer in zip(questions[point], read["answers"], strict=True):
                yield _Answer(condition, asked["question"], asked["answer"], str(answer))


def _mixed(answers: list[_Answer]) -> list[_Answer]:
    """In an order that tells nothing and is the same every time."""
    random.Random(len(answers)).shuffle(answers)
    return answers


def _questions(folder: Path) -> dict[str, list[dict[str, str]]]:
    questions: dict[str, list[dict[str, str]]] = _read(folder / "questions.json")
    for point, asked in questions.items():
        if not asked or not all(each["question"].strip() and each["answer"].strip() for each in asked):
            raise BadSheet(f"questions.json: point {point} lacks a question or its answer. See points/{point}.md.")
    return questions


def _key(folder: Path) -> Mapping[str, Mapping[str, str]]:
    key: Mapping[str, Mapping[str, str]] = _read(folder / "key.json")
    return key


def _given(folder: Path, reader: str) -> dict[str, dict[str, Any]]:
    given: dict[str, dict[str, Any]] = _read(folder / reader / "answers.json")
    return given


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadSheet(f"{file.name} cannot be read: {error}.") from error
