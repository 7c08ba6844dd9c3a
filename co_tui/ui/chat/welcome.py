"""The text of an empty chat: examples that work in this folder, and the first keys."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from co_tui.ui.keys.command_table import DEFAULT_KEYS, shortcut_for

SLOGAN: Final = "Work with a model, and see exactly what it sees."
EMBEDDED_SLOGAN: Final = "A small model: short questions and texts, in English."
EMBEDDED_EXAMPLES: Final = ("Why is the sky blue?", "Write a short poem about the sea")
"""Tried with the embedded model, which uses no tools and knows little."""
USUAL_FILE: Final = "README.md"
EXAMPLE_ENDINGS: Final = (".md", ".rst", ".txt", ".py", ".js", ".ts", ".go", ".rs", ".c", ".java", ".toml")
"""Files used as an example: none that usually hold secrets."""
MAX_NAME_CHARS: Final = 14
"""Longest file name used as an example, so that lines fit the smallest terminal."""
MAX_ENTRIES: Final = 200
"""Directory entries read before the first paint."""


def welcome(
    folder: Path, chosen: Mapping[str, str] = DEFAULT_KEYS, *, in_repository: bool, is_embedded: bool = False
) -> str:
    """The text of an empty chat; `chosen` are the user's own keys. The embedded model gets examples that it answers."""
    file = "" if is_embedded else _example_file(folder)
    examples = list(EMBEDDED_EXAMPLES) if is_embedded else ["Explain what a context window is"]
    examples += [f"{f'What does @{file} say?':<30}@ names a file"] if file else []
    examples += [f"{'!git status' if in_repository else '!ls':<30}! runs your command"]
    lines = [
        EMBEDDED_SLOGAN if is_embedded else SLOGAN,
        "Ask anything and press Enter. For example:",
        *(f"  {example}" for example in examples),
        "",
        first_keys(chosen),
    ]
    return "\n".join(lines)


def first_keys(chosen: Mapping[str, str]) -> str:
    shortcuts = {name: shortcut_for(name, chosen) for name in ("help", "sessions", "model")}
    hints = [shortcut if shortcut == f"/{name}" else f"{shortcut} {name}" for name, shortcut in shortcuts.items()]
    return "  ".join((*hints, "Ctrl+P everything"))


def _example_file(folder: Path) -> str:
    """A file that exists and needs no quotes; empty when there is none."""
    try:
        if (folder / USUAL_FILE).is_file():
            return USUAL_FILE
        with os.scandir(folder) as entries:
            names = [entry.name for _, entry in zip(range(MAX_ENTRIES), entries, strict=False) if entry.is_file()]
    except OSError:
        return ""
    return min((name for name in names if _is_plain(name)), default="")


def _is_plain(name: str) -> bool:
    is_usual = not name.startswith(".") and name.endswith(EXAMPLE_ENDINGS) and len(name) <= MAX_NAME_CHARS
    return is_usual and name.isascii() and name.replace(".", "").replace("_", "").isalnum()
