"""`co-tui help` lists the topics and prints them, whatever else is broken."""

import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from co_tui.help import TOPICS, page, topic_named
from co_tui.help.render import WIDEST, rendered
from tests.support.cases import each_case
from tests.support.here import Here
from tests.test_imports import HEAVY


def test_it_lists_every_topic_with_a_line(here: Here) -> None:
    done = here("help")
    assert done.code == 0 and [line.split()[0] for line in done.out.splitlines()[: len(TOPICS)]] == [
        each.name for each in TOPICS
    ]


def test_a_topic_is_printed_as_markdown_by_its_name_or_another(here: Here) -> None:
    assert here("help", "compaction").out == here("help", "undo").out
    assert "| undo a compaction | `/undo`" in here("help", "Compaction").out


def test_an_unknown_topic_is_a_sentence_with_the_nearest_name(here: Here) -> None:
    done = here("help", "permisions")
    assert (done.code, done.out, done.err) == (2, "", "co-tui: No help about 'permisions'. Did you mean permissions?\n")
    assert here("help", "laptop").err == "co-tui: No topic 'laptop'. Mentioned in: machines, browser.\n"
    assert here("help", "xyzzy").err == "co-tui: No help about 'xyzzy'. F1 and `co-tui help` list the topics.\n"


def test_bad_settings_do_not_hide_it(here: Here, home: Path) -> None:
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config" / "config.toml").write_text("model = [broken")
    assert here("help", "settings").code == 0


def test_a_slash_command_prints_it_too(served_here: Here) -> None:
    assert "| undo a compaction |" in served_here("run", "-p", "/help compaction").out
    refused = served_here("run", "-p", "/help compacton")
    assert refused.code == 2 and "Did you mean compaction?" in refused.err


@each_case("width", [40, 200])
def test_a_page_fits_the_terminal_and_loses_no_word(width: int) -> None:
    for topic in (topic_named("settings"), topic_named("keys"), topic_named("approvals")):
        assert topic is not None
        shown = rendered(page(topic), width, styled=False)
        assert max(map(len, shown.splitlines())) <= min(width, WIDEST), topic.name
        assert shown.count("…") == page(topic).count("…"), "no cell is cut"


def test_in_a_terminal_it_is_rendered_and_starts_without_the_engine(tmp_path: Path) -> None:
    terminal, inside = pty.openpty()
    code = (
        "import sys; from co_tui.cli import run; run(['help', 'lab']); "
        f"print('loaded:', sorted({set(HEAVY)!r} & {{name.partition('.')[0] for name in sys.modules}}))"
    )
    environ = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "CO_TUI_HOME": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", code], stdin=inside, stdout=inside, stderr=inside, env=environ) as run:
        os.close(inside)
        shown = b""
        with suppress(OSError):  # on Linux, the end of the output
            while more := os.read(terminal, 65_536):
                shown += more
    os.close(terminal)
    text = shown.decode()
    assert run.returncode == 0 and "\x1b[1mThe lab" in text and "| figure |" not in text
    assert "loaded: []" in text and not any(tmp_path.iterdir())
