"""`co-tui lab`: processes, progress and the report."""

import io
import json
import multiprocessing
import os
import sys
from pathlib import Path

import pytest

from co_tui.context.measure.count import Window
from co_tui.exchange.openai_format import load
from co_tui.headless.lab_jobs import Progress, Replays, run_in_processes
from tests.context.request.test_pipeline import LOADED
from tests.lab.test_policy_paths import FAILING
from tests.support.here import Here
from tests.support.long_run import only_in_a_long_run


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    file = tmp_path / "talks.jsonl"
    with file.open("w") as stream:
        for number in range(3):
            messages = []
            for turn in range(12):
                messages.append(
                    {"role": "user", "content": f"Question {turn} about src/part_{turn}.py? " + "word " * 60}
                )
                messages.append(
                    {"role": "assistant", "content": f"The loader of src/part_{turn}.py returns {turn}{number}00."}
                )
            stream.write(json.dumps({"id": f"talk {number}", "messages": messages}) + "\n")
    return file


def test_several_processes_give_the_same_results_in_the_same_order(here: Here, talks: Path, tmp_path: Path) -> None:
    (here.cwd / "mine.py").write_text(FAILING)
    policies = ["--policy", "copilot", "--policy", "./mine.py"]
    options = ["lab", "--input", str(talks), *policies, "--window", "600", "--json"]
    one = here(*options, "--dump", str(tmp_path / "one"))
    two = here(*options, "--dump", str(tmp_path / "two"), "--jobs", "2")
    assert one.code == two.code == 0 and one.out == two.out
    assert [row["policy"] for row in two.objects] == ["copilot", "mine.py"]
    assert two.err.count("balanced decided where it failed.") == 1

    def dumped(name: str) -> dict[str, str]:
        folder = tmp_path / name
        return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*.json")}

    assert dumped("one") == dumped("two") != {}
    assert {file.stat().st_mode & 0o077 for file in tmp_path.glob("one/**/*.json")} == {0}


@only_in_a_long_run
def test_an_interrupt_ends_all_processes(talks: Path) -> None:
    replays = Replays(list(load(talks)) * 4, [("balanced", LOADED["balanced"])], Window(tokens=600, known=True))

    others = set(multiprocessing.active_children())

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in_processes(replays, 2, interrupt)
    assert set(multiprocessing.active_children()) == others


def test_a_model_is_asked_by_one_process_only(here: Here, talks: Path) -> None:
    refused = here("lab", "--input", str(talks), "--model", "openai:gpt-5", "--jobs", "2")
    assert refused.code == 2 and "--jobs without --model" in refused.err and refused.out == ""


def test_the_report_is_written_and_private(here: Here, talks: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    done = here("lab", "--input", str(talks), "--window", "600", "--report", str(file))
    assert done.code == 0 and "balanced" in done.out and str(file) in done.err
    text = file.read_text()
    assert "3 recorded conversations from talks.jsonl" in text and text.endswith("</html>\n")
    assert file.stat().st_mode & 0o077 == 0
    assert sorted(each.name for each in tmp_path.glob("*report*")) == ["report.html"]


def test_an_unwritable_report_is_refused_before_anything_is_replayed(here: Here, talks: Path, tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    for target in (tmp_path, pipe, tmp_path / "missing" / "report.html", talks / "report.html"):
        refused = here("lab", "--input", str(talks), "--window", "600", "--report", str(target))
        assert refused.code == 1 and refused.out == ""
        assert refused.err.startswith(f"co-tui: Cannot write {target}: ") and refused.err.count("\n") == 1


def test_the_table_fits_120_columns(here: Here, talks: Path) -> None:
    done = here("lab", "--input", str(talks), "--policy", "balanced", "--policy", "cowagent", "--window", "600")
    assert max(map(len, done.out.splitlines())) <= 120 and "do not fit" not in done.err


def test_a_window_that_is_too_small_explains_the_figures(here: Here, talks: Path) -> None:
    small = here("lab", "--input", str(talks), "--window", "20")
    assert small.err == "co-tui: 36 of 36 requests do not fit 20 tokens: try a larger --window.\n"


def test_progress_is_one_line_on_a_terminal_and_nothing_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with Progress(2) as progress:
            progress.step()
        written = stream.getvalue()
        assert ("Replayed 1 of 2 (50 %)" in written) is shown and "\n" not in written
        assert written.endswith("\r\x1b[2K") is shown
