"""Instructions of a project that count once it is trusted: `.claude/CLAUDE.md`, `.claude/rules` and `CLAUDE.local.md`.

`AGENTS.md` and `CLAUDE.md` need no trust; the session finds them itself.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from co_tui.paths import home_text, is_inside, path_text, read_small_text
from co_tui.record import Record
from co_tui.settings.files import MarkdownFiles

MAIN: Final = ".claude/CLAUDE.md"
RULES: Final = ".claude/rules"
LOCAL: Final = "CLAUDE.local.md"
LARGEST_BYTES: Final = 64_000
"""A larger file is not added to requests."""
MOST_RULES: Final = 100


class InstructionFile(Record):
    """A text for the model."""

    file: Path
    name: str
    """For people: relative to the project, or with `~`."""
    text: str
    root: Path | None = None
    """The project's folder; None for the user's own."""
    patterns: tuple[str, ...] = ()
    """The files it is about, from the project's folder; empty for all work."""

    @property
    def access_text(self) -> str:
        """The file, and when it counts, on one line."""
        return f"{self.name} (for {', '.join(self.patterns)})" if self.patterns else self.name

    @property
    def access(self) -> tuple[object, ...]:
        """The same part by part, for the trust digest, so it does not depend on the text."""
        return (self.name, self.patterns)


class InstructionFiles(Record):
    """Instruction files, and a sentence for each unusable one."""

    files: tuple[InstructionFile, ...] = ()
    problems: tuple[str, ...] = ()


def read_project_instructions(project: Path) -> InstructionFiles:
    """Those of a project, in the order of a request. Links that lead out of it are not followed."""
    root = Path(os.path.realpath(project))
    found: list[InstructionFile] = []
    problems: list[str] = []
    for file in _files(project, root, problems):
        try:
            found.append(_read(file, os.path.relpath(file, project), root))
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"Skipped {path_text(file)}: {_reason(error)}.")
    return InstructionFiles(files=tuple(found), problems=tuple(problems))


def read_own_instructions(files: Sequence[Path]) -> InstructionFiles:
    """The user's own for every project; links may lead anywhere."""
    found: list[InstructionFile] = []
    problems: list[str] = []
    for file in files:
        try:
            found.append(_read(file, home_text(path_text(file)), None))
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"Skipped {path_text(file)}: {_reason(error)}.")
    return InstructionFiles(files=tuple(found), problems=tuple(problems))


def _files(project: Path, root: Path, problems: list[str]) -> Iterator[Path]:
    if os.path.lexists(main := project / MAIN):
        yield main
    rules = project / RULES
    if os.path.lexists(rules) and not is_inside(rules, root):
        problems.append(f"Skipped {path_text(rules)}: it is a link out of the project.")
    else:
        for count, file in enumerate(MarkdownFiles(root).below(rules)):
            if count == MOST_RULES:
                problems.append(f"{path_text(rules)} has over {MOST_RULES} rules; the rest are not read.")
                break
            yield file
    if os.path.lexists(local := project / LOCAL):
        yield local


def _read(file: Path, name: str, inside: Path | None) -> InstructionFile:
    """Raises OSError and UnicodeDecodeError."""
    text = read_small_text(file, LARGEST_BYTES, inside=inside).removeprefix("\ufeff")
    patterns: tuple[str, ...] = ()
    from co_tui.settings.markdown.front_matter import FENCE, read_front_matter  # not needed for most first paints

    if text.partition("\n")[0].rstrip() == FENCE:
        try:
            values, text = read_front_matter(text)
        except ValueError:
            pass  # a line across the page, not keys
        else:
            patterns = _patterns(values.get("paths", ""))
    return InstructionFile(file=file, name=name, text=text, root=inside, patterns=patterns if inside else ())


def _patterns(value: str | tuple[str, ...]) -> tuple[str, ...]:
    """The patterns of `paths`, a list or separated by commas; a comma within braces is part of a pattern."""
    found, depth = [""], 0
    for letter in value if isinstance(value, str) else ",".join(value):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth <= 0:
            found.append("")
        else:
            found[-1] += letter
    return tuple(pattern for each in found if (pattern := each.strip().strip("\"'").strip()))


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or str(error)
