"""The blind test with readers, from made conversations to its table; `python -m tests.readers`."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.readers.__main__ import main

POINTS, READERS = 3, 3
CONDITIONS = ("balanced", "off", "whole")


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a few conversations that are longer than the window."""
    made = tmp_path_factory.mktemp("made")
    talks = made / "talks.jsonl"
    with talks.open("w") as stream:
        for number in range(POINTS):
            messages = [{"role": "system", "content": "Be exact."}]
            for turn in range(30):
                asked = f"Question {turn} about src/part_{turn}.py of talk {number}? " + "word " * 60
                messages.append({"role": "user", "content": asked})
                messages.append({"role": "assistant", "content": f"src/part_{turn}.py returns {turn}{number}00."})
            stream.write(json.dumps({"id": f"talk {number}", "messages": messages}) + "\n")
    folder = made / "cases"
    options = ["--points", str(POINTS), "--window", "1500", "--policy", "balanced", "--policy", "off"]
    assert main(["cases", str(folder), "--input", str(talks), *options]) == 0
    return folder


@pytest.fixture
def folder(cases: Path, tmp_path: Path) -> Path:
    return shutil.copytree(cases, tmp_path / "cases")


def fill(file: Path, change: Any) -> None:
    value = json.loads(file.read_text())
    change(value)
    file.write_text(json.dumps(value))


def ask(folder: Path) -> None:
    def write(questions: dict[str, list[dict[str, str]]]) -> None:
        for point, asked in questions.items():
            for number, each in enumerate(asked):
                each.update(question=f"What of {point}, {number}?", answer=f"answer {point} {number}")

    fill(folder / "questions.json", write)


def answer(folder: Path, key: dict[str, dict[str, str]]) -> None:
    """Readers of the whole conversation know everything, those of `off` nothing, the others invent one answer."""
    for reader, points in key.items():

        def write(sheets: dict[str, dict[str, Any]], points: dict[str, str] = points) -> None:
            for point, sheet in sheets.items():
                known = [f"answer {point} {number}" for number in range(len(sheet["answers"]))]
                invented = [*known[:-1], "made up"]
                sheet["answers"] = {"whole": known, "off": ["unknown"] * len(known)}.get(points[point], invented)
                sheet["take_over"] = {"whole": 5, "off": 1}.get(points[point], 4)

        fill(folder / reader / "answers.json", write)


def test_from_conversations_to_a_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sheets", str(folder), "--readers", str(READERS)]) == 1
    assert "point 01 lacks a question or its answer" in capsys.readouterr().err
    ask(folder)
    assert main(["sheets", str(folder), "--readers", str(READERS)]) == 0
    key = json.loads((folder / "key.json").read_text())
    assert main(["marks", str(folder)]) == 1 and "lacks answers or a number from 1 to 5" in capsys.readouterr().err
    answer(folder, key)
    assert main(["marks", str(folder)]) == 0
    assert main(["table", str(folder)]) == 1 and "has no mark" in capsys.readouterr().err

    def mark(rows: list[dict[str, str]]) -> None:
        for row in rows:
            is_right = row["answer"] == row["right answer"]
            row["mark"] = "right" if is_right else "unknown" if row["answer"] == "unknown" else "invented"

    fill(folder / "marks.json", mark)
    capsys.readouterr()
    assert main(["table", str(folder)]) == 0
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert rows == [
        ["whole", "12", "100.0% ± 0.0%", "0.0%", "5.00"],
        ["balanced", "12", "75.0% ± 24.5%", "25.0%", "4.00"],
        ["off", "12", "0.0% ± 0.0%", "0.0%", "1.00"],
    ]


def test_a_reader_sees_a_point_once_and_never_which_condition_it_is(folder: Path) -> None:
    ask(folder)
    assert main(["sheets", str(folder), "--readers", str(READERS)]) == 0
    key = json.loads((folder / "key.json").read_text())
    for point in ("01", "02", "03"):
        assert sorted(points[point] for points in key.values()) == sorted(CONDITIONS)
    for reader, points in key.items():
        assert sorted(points.values()) == sorted(CONDITIONS), "each reader has all conditions equally often"
        sheets = "".join(file.read_text() for file in (folder / reader).iterdir())
        assert not any(condition in sheets for condition in CONDITIONS[:2]) and "answer 01" not in sheets


def test_marks_that_do_not_fit_the_answers_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask(folder)
    assert main(["sheets", str(folder), "--readers", "1"]) == 0
    answer(folder, json.loads((folder / "key.json").read_text()))
    assert main(["marks", str(folder)]) == 0
    fill(folder / "marks.json", lambda rows: rows.pop())
    assert main(["table", str(folder)]) == 1 and "does not fit the answers" in capsys.readouterr().err
