"""Files that an instruction file imports: `@docs/style.md`, inside of the project only."""

import errno
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from pydantic_ai_harness.repo_context import ContextFile

from co_tui.inert import one_line
from co_tui.session.tools.folder.project_texts import Texts

DEEPEST: Final = 5
"""How many imports may follow one another."""
MOST_FILES: Final = 30
MOST_CHARS: Final = 200_000
"""Of all imported files together."""
NAME_CHARS: Final = 200
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_TICKS: Final = re.compile(r"`+")
_IMPORT: Final = re.compile(r"(?:^|(?<=[\s(]))@((?:\\ |[^\s`'\"<>()\[\]{}|,;])+)")


class InstructionImports:
    """Adds to instruction files the files they import, each once. Reads files: use it in a thread."""

    def __init__(self, texts: Texts, hides: Callable[[Path], bool] | None) -> None:
        """`hides` says which files need approval to be read; these are not imported."""
        self._texts = texts
        self._hides = hides

    def added_to(self, files: Sequence[ContextFile]) -> list[ContextFile]:
        """The files, each followed by what it imports. A file that is not imported is named at the end of the one that
        asks for it."""
        self._seen = {self._texts.find(str(each.path)).real for each in files}
        self._left_chars, self._left_files = MOST_CHARS, MOST_FILES
        found: list[ContextFile] = []
        for each in files:
            found += self._with_imports(each, DEEPEST)
        return found

    def _with_imports(self, file: ContextFile, depth: int) -> list[ContextFile]:
        imported: list[ContextFile] = []
        notes: list[str] = []
        for name in dict.fromkeys(imports_in(file.content)):
            outcome = self._read(file.directory, name, depth)
            if isinstance(outcome, ContextFile):
                imported += self._with_imports(outcome, depth - 1)
            elif outcome:
                notes.append(f"[@{one_line(name, NAME_CHARS)} is not imported: {outcome}]")
        content = "\n".join([file.content.rstrip("\r\n"), *notes]) if notes else file.content
        return [ContextFile(directory=file.directory, path=file.path, content=content), *imported]

    def _read(self, folder: Path, name: str, depth: int) -> ContextFile | str:
        """The file; else why it is not imported, or nothing if there is none: then it is no import but a name."""
        path = Path(os.path.normpath(folder / name))
        found = self._texts.find(str(path))
        if name.startswith("~") or not found.is_inside:
            return "it is outside of the project." if _is_path(name) else ""
        if found.real in self._seen or not found.is_file:
            return ""
        if self._hides is not None and self._hides(Path(found.real)):
            return "a rule keeps it from being read."
        if depth == 0 or self._left_files == 0:
            return "too many imports."
        try:
            data = self._texts.read(str(path))
        except OSError as error:
            return "it is too large." if error.errno == errno.EFBIG else "it cannot be read."
        if b"\0" in data or len(data) > self._left_chars:
            return "it is not text." if b"\0" in data else "the imports are too large together."
        self._seen.add(found.real)
        self._left_files -= 1
        self._left_chars -= len(data)
        return ContextFile(directory=path.parent, path=path, content=data.decode(errors="replace"))


def _is_path(name: str) -> bool:
    """Whether it must be a path; `@name` and `@scope/package` are often something else."""
    return name.startswith(("~/", "/", "../", "./")) or bool(Path(name).suffix)


def imports_in(text: str) -> Iterator[str]:
    """The names after `@` in a text, except in code."""
    fence = ""
    for line in text.splitlines():
        found = _FENCE.match(line)
        if fence:
            fence = "" if found and found[1].startswith(fence) else fence
        elif found:
            fence = found[1]
        else:
            for match in _IMPORT.finditer(_without_code(line)):
                if name := match[1].replace("\\ ", " ").rstrip(".:!?*_"):
                    yield name


def _without_code(line: str) -> str:
    """The line without what is between two runs of as many backticks; in linear time, whatever is in it."""
    runs = [found.span() for found in _TICKS.finditer(line)]
    closing: dict[int, int] = {}
    latest: dict[int, int] = {}
    for number in reversed(range(len(runs))):
        length = runs[number][1] - runs[number][0]
        if length in latest:
            closing[number] = latest[length]
        latest[length] = number
    kept, at, number = [], 0, 0
    while number < len(runs):
        if number in closing:
            kept.append(line[at : runs[number][0]])
            number = closing[number]
            at = runs[number][1]
        number += 1
    return " ".join([*kept, line[at:]])
