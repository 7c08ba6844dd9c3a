"""The text of an empty chat: what this is, one thing to type, and the example session."""

import os
from pathlib import Path
from typing import Final

SLOGAN: Final = "Work with agents: see what they see, lose nothing."
EMBEDDED_QUESTION: Final = "Why is the sky blue?"
"""Tried with the embedded model, which uses no tools and knows little."""
USUAL_QUESTION: Final = "What is a context window?"
LOOK_AROUND: Final = "Or look around: /example"
USUAL_FILE: Final = "README.md"
EXAMPLE_ENDINGS: Final = (".md", ".rst", ".txt", ".py", ".js", ".ts", ".go", ".rs", ".c", ".java", ".toml")
"""Files used as an example: none that usually hold secrets."""
MAX_NAME_CHARS: Final = 14
"""Longest file name used as an example, so that lines fit the smallest terminal."""
MAX_ENTRIES: Final = 200
"""Directory entries read before the first paint."""


def welcome(folder: Path, *, is_embedded: bool = False) -> str:
    """The text of an empty chat, with a question that the model can answer in this folder."""
    file = "" if is_embedded else _example_file(folder)
    question = f"What does @{file} say?" if file else EMBEDDED_QUESTION if is_embedded else USUAL_QUESTION
    return f"{SLOGAN}\n\nTry: {question}\n{LOOK_AROUND}"


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
