"""The help pages name what there is and nothing that is not; what they show can be done."""

import re
import shlex

import pytest

from co_tui.cli import cli_commands
from co_tui.cli.arguments import parse
from co_tui.help import TOPICS, all_names, page
from co_tui.ui.keys.command_table import COMMANDS
from tests import lab_reference
from tests.help_tables import HELP, ROOT, TABLES, marked, with_table
from tests.support.cases import each_case
from tests.support.here import Here
from tests.test_sentences import ODD_WORDS

PAGES = {"README": (ROOT / "README.md").read_text(encoding="utf-8"), **{each.name: page(each) for each in TOPICS}}
TEXT = "\n".join(PAGES.values())


@each_case("name", TABLES)
def test_a_table_is_as_it_would_be_made_now(name: str) -> None:
    file, made = TABLES[name]
    text = file.read_text(encoding="utf-8")
    assert text == with_table(text, name, made()), "uv run python -m tests.help_tables"


def test_each_topic_has_a_page_that_begins_with_what_people_want_to_do() -> None:
    assert {file.stem for file in HELP.glob("*.md")} == {each.name for each in TOPICS}
    assert len(all_names()) == len(set(all_names())), "a name leads to one topic"
    for topic in TOPICS:
        heading, _, line, *rest = page(topic).splitlines()
        assert heading.startswith("# ") and line.endswith("."), topic.name
        assert topic.name == "changes" or "| to | do |" in rest[:3], topic.name
        assert "<!--" not in page(topic)


def test_no_page_has_odd_words() -> None:
    assert [line for line in TEXT.splitlines() if ODD_WORDS.search(line)] == []


def test_every_command_that_is_named_exists() -> None:
    named = set(re.findall(r"`/([a-z]+)[ `]", TEXT))
    aliases = {alias for command in COMMANDS for alias in command.aliases}
    assert named - {"tmp"} <= {command.name for command in COMMANDS} | aliases


def commands_shown() -> set[str]:
    """The command lines of `co-tui` in blocks and in sentences, without placeholders."""
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL))
    lines = [re.split(r"  #| < ", line)[0].strip() for line in blocks.splitlines()]
    lines += re.findall(r"`(co-tui [^`]+)`", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL))
    return {line for line in lines if line.startswith("co-tui ") and "…" not in line.replace('"…"', "")}


def test_every_command_line_that_is_shown_is_understood() -> None:
    given = [shlex.split(line)[1:] for line in sorted(commands_shown())]
    called = {words[0] for words in given if words[0] != "COMMAND" and not words[0].startswith("-")}
    assert called == {row.name for row in cli_commands.COMMANDS}
    for words in given:
        if len(words) == 1 or "COMMAND" in words or words[-1].startswith("--login"):
            continue  # a name only
        try:
            parse([word for word in words if not word.startswith("[")])
        except SystemExit:
            pytest.fail(f"not understood: {words}")


def test_every_change_of_a_setting_that_is_shown_is_taken(here: Here) -> None:
    changes = set(re.findall(r"`(?:/|co-tui )config ((?!KEY|\[)[^`]+ [^`]+)`", TEXT))
    assert len(changes) > 8
    for change in sorted(changes):
        key, value = shlex.split(change)
        done = here("config", key, value)
        assert done.code == 0, (change, done.err)


def test_the_lab_measured_every_policy_in_both_windows() -> None:
    """The form only: figures change with the engine, and the recordings are not in the repository."""
    begin, end = marked(lab_reference.NAME, lab_reference.MAKER)
    made = lab_reference.PAGE.read_text(encoding="utf-8").partition(begin)[2].partition(end)[0].strip()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in made.splitlines() if line.startswith("|")]
    columns = 1 + len(lab_reference.WINDOWS) * len(lab_reference.COLUMNS)
    assert {len(row) for row in rows} == {columns}
    assert [row[0].strip("`") for row in rows[2:]] == [name for name, _ in lab_reference.built_in()]
    assert all(re.fullmatch(r"\d+\.\d( %|k)", cell) for row in rows[2:] for cell in row[1:])
