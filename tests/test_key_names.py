"""Keys are written one way, `Ctrl+P`, `Shift+Tab`, `F5`: on the screen, in sentences, in README and the help pages."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType

import pytest

from co_tui.actions import COMMANDS, KEYS
from co_tui.key_names import key_name, key_pressed
from tests.support.cases import each_case

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "tests" / "ui" / "pictures" / "__snapshots__"
MISSPELT = (
    r"\b(?:ctrl|alt|shift|CTRL|ALT|SHIFT|Control|control)[+-]\w",
    r"\b(?:Ctrl|Alt|Shift)(?:-\w|\+[a-z]\b|\+(?:tab|enter|up|down|end|home|space)\b)",
    r"(?<![\w^])\^[a-zA-Z]\b(?!\()",
    r"(?<![\w/-])(?:esc|pgup|pgdn|PageUp|PageDown|ESC|Escape)\b(?! codes?\b| sequences?\b)",
    r"(?<![\w.])f(?:[1-9]|1[0-2])\b(?![\w.])",
    r"\b(?:enter|tab|space|backspace) (?:opens|sends|shows|runs|takes|chooses|completes|goes|scrolls|closes|key)\b",
    r"\b(?:Press|press|then|and) (?:enter|tab|backspace)\b",
)
LABEL_FILES = ("agent/permissions", "agent/local", "exchange", "lab")
"""Hold command lines, patterns and file formats; what they tell people names no keys."""


def misspelt(text: str) -> list[str]:
    return [found[0] for pattern in MISSPELT for found in re.finditer(pattern, text)]


def is_key(text: str) -> bool:
    """Whether it is a binding, or the key of a hint, which `key_name` writes."""
    return all(len(key) == 1 or key_pressed(key) for key in re.split(r"[, ]+", text))


def sentences(file: Path) -> Iterator[str]:
    """The texts of a module that a user may read: neither docstrings nor single words but `^x`, nor a binding."""
    without_docstrings = compile(file.read_text(encoding="utf-8"), file.name, "exec", dont_inherit=True, optimize=2)
    for text in strings(without_docstrings.co_consts):
        if (" " in text.strip() or re.fullmatch(r"\^\w", text)) and not is_key(text.strip()):
            yield text


def strings(constants: Iterable[object]) -> Iterator[str]:
    for each in constants:
        if isinstance(each, str):
            yield each
        elif isinstance(each, CodeType):
            yield from strings(each.co_consts)
        elif isinstance(each, tuple | frozenset):
            yield from strings(each)


def test_every_sentence_of_the_app_writes_keys_one_way() -> None:
    found = {}
    for file in sorted((ROOT / "co_tui").rglob("*.py")):
        inside = file.relative_to(ROOT / "co_tui").as_posix()
        if not inside.startswith(LABEL_FILES):
            wrong = {text: names for text in sentences(file) if (names := misspelt(text))}
            if wrong:
                found[inside] = wrong
    assert not found


def test_readme_and_the_help_pages_write_keys_one_way() -> None:
    pages = [file.read_text(encoding="utf-8") for file in (ROOT / "README.md", *(ROOT / "co_tui/help").glob("*.md"))]
    text = re.sub(r"```.*?```", "", "\n".join(pages), flags=re.S)
    assert not [(line, names) for line in text.splitlines() if (names := misspelt(line))]


@pytest.mark.parametrize("picture", sorted(PICTURES.rglob("*.txt")), ids=lambda file: file.stem)
def test_every_picture_of_a_screen_writes_keys_one_way(picture: Path) -> None:
    screens = re.split(r"^---.*?(?=^===|\Z)", picture.read_text(encoding="utf-8"), flags=re.S | re.M)
    assert not [(line, names) for screen in screens for line in screen.splitlines() if (names := misspelt(line))]


@each_case(
    "text",
    [
        "ctrl+p opens it",
        "Ctrl+p opens it",
        "^p more",
        "esc goes back",
        "press f5",
        "enter opens it",
        "Ctrl-C",
        "PageUp",
    ],
)
def test_other_spellings_are_found(text: str) -> None:
    assert misspelt(text)


@each_case(
    "text", ["Ctrl+P opens it", "Esc goes back; F5, Shift+Tab and PgUp work", "the if branch", "Alt+↑ Ctrl+End", "x^2"]
)
def test_our_spelling_is_left_alone(text: str) -> None:
    assert not misspelt(text)


def test_keys_as_people_write_them() -> None:
    keys = ("ctrl+p", "shift+tab", "f5", "escape", "up,k", "pageup", "alt+up", "ctrl+shift+f12", "[", "G", "backspace")
    assert [key_name(key) for key in keys] == [
        "Ctrl+P", "Shift+Tab", "F5", "Esc", "↑ k", "PgUp", "Alt+↑", "Ctrl+Shift+F12", "[", "G", "Backspace",
    ]  # fmt: skip
    assert not misspelt("  ".join(key_name(row.key) for row in (*COMMANDS, *KEYS)))


@each_case("key", [key for row in (*COMMANDS, *KEYS) for key in row.key.split(",") if key.isalnum()])
def test_a_key_of_the_tables_is_pressed_by_a_click_on_its_hint(key: str) -> None:
    assert key_pressed(key) == key
