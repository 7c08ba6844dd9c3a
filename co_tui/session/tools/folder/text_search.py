"""Searches files for a regular expression, in a thread. No expression and no file can stall the app."""

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from co_tui.paths import is_inside, read_small_bytes
from co_tui.record import Record

LONGEST_S: Final = 20.0
SLOW_MATCH_S: Final = 2.0
"""Time limit for one line."""
LARGEST_FILE_BYTES: Final = 10_000_000
LONGEST_PATTERN_CHARS: Final = 2_000
LINE_CHARS: Final = 1_000
"""A longer line is shown around its match."""
MOST_CHARS: Final = 400_000
"""Of all lines together."""
MOST_NAMED: Final = 10
CUT: Final = "[... the folder is too large to search completely; narrow the path]"
_BEFORE_MATCH_CHARS: Final = 200
_BINARY_PROBE_BYTES: Final = 8_000
_FEW_FILES: Final = 200
"""Fewer are searched before ripgrep has started."""
_BATCH_CHARS: Final = 100_000
"""Of file names in one command line."""
_SIMPLE: Final = re.compile(
    r"""(?x) (?:
        \\[dDwWsSbBtn] | \\[^\w<>]             # escapes that mean the same everywhere
        | \[\^?[^][\\&~|-]+ (?:-[^][\\&~|-]+)* \]  # a set of characters and ranges
        | \((?!\?) | \(\?: | [^\\[(]           # groups, and all else
    )*"""
)
_POSSESSIVE: Final = re.compile(r"[*+?}]\+")


class Found(Record):
    """Lines as `path:number:text`, and what was left out."""

    lines: tuple[str, ...] = ()
    is_full: bool = False
    """Whether there are more matches."""
    is_late: bool = False
    """Whether the time limit was reached."""
    skipped: tuple[str, ...] = ()
    """Files that are too large or cannot be read."""

    def notes(self, was_cut: bool) -> list[str]:
        """What the result does not show, for the model; `was_cut`: not all files were searched."""
        named, more = ", ".join(self.skipped[:MOST_NAMED]), ", ..." if len(self.skipped) > MOST_NAMED else ""
        skipped = f"[{len(self.skipped)} files skipped (too large or unreadable): {named}{more}]"
        return [
            *([f"[... truncated at {len(self.lines)} matches]"] if self.is_full else []),
            *([skipped] if self.skipped else []),
            *(["[... the search timed out; narrow the path]"] if self.is_late else []),
            *([CUT] if was_cut else []),
        ]


class TextSearch:
    """One expression, searched line by line. Raises ValueError that says what is wrong with it."""

    def __init__(self, pattern: str, *, wanted: Callable[[], bool] = lambda: True) -> None:
        self._pattern = pattern
        self._compiled = _compiled(pattern)
        self._wanted = wanted
        self._until = time.monotonic() + LONGEST_S
        # Matching a whole text first rules out most files. Only for expressions that match the same in a text and a
        # line.
        self._whole = _compiled(pattern, in_text=True) if is_simple(pattern) else None

    def run(
        self, files: Sequence[str], folder: Path, most_lines: int, *, inside: Path, shown: Callable[[str], str] = str
    ) -> Found:
        """Search files, named relative to a folder, that are inside of another. `shown` formats a file's name."""
        lines: list[str] = []
        skipped: list[str] = []
        chars = 0
        for file in self._with_matches(files, folder):
            if self.is_over:
                return Found(lines=tuple(lines), is_late=True, skipped=tuple(skipped))
            try:
                content = read_small_bytes(f"{folder}/{file}", LARGEST_FILE_BYTES, inside=inside)
            except (OSError, ValueError):
                skipped.append(shown(file))
                continue
            if b"\0" in content[:_BINARY_PROBE_BYTES]:
                continue
            name = shown(file)
            for number, text in self.matches(content.decode("utf-8", "replace"), of=name):
                line = f"{name}:{number}:{text}"
                if len(lines) >= most_lines or chars > MOST_CHARS:
                    return Found(lines=tuple(lines), is_full=True, skipped=tuple(skipped))
                lines.append(line)
                chars += len(line)
        return Found(lines=tuple(lines), is_late=self.is_over, skipped=tuple(skipped))

    @property
    def is_over(self) -> bool:
        """Whether its time is over, or the caller waits no longer."""
        return time.monotonic() > self._until or not self._wanted()

    def matches(self, text: str, first: int = 1, *, of: str = "it") -> Iterator[tuple[int, str]]:
        """The matching lines with their numbers, `first` being that of the first line of the text."""
        text = text.replace("\r\n", "\n")
        if not self._may_match(text):
            return
        for number, line in enumerate(text.split("\n"), first):
            try:
                match = self._compiled.search(line, timeout=SLOW_MATCH_S, concurrent=True)
            except TimeoutError:
                raise ValueError(
                    f"This regular expression takes too long on line {number} of {of}. "
                    "Avoid nested repetitions such as (a+)+."
                ) from None
            if match is not None:
                yield number, _excerpt(line, match.start())
            if self.is_over:
                return

    def _may_match(self, text: str) -> bool:
        if self._whole is None:
            return True
        try:
            return self._whole.search(text, timeout=SLOW_MATCH_S, concurrent=True) is not None
        except TimeoutError:
            return True

    def _with_matches(self, files: Sequence[str], folder: Path) -> Sequence[str]:
        """The files without those in which ripgrep, if installed, finds nothing. Its output is never shown."""
        program = find_ripgrep(folder) if self._whole is not None and len(files) > _FEW_FILES else None
        if program is None:
            return files
        return [file for batch in _batches(files) for file in self._asked(program, batch, folder)]

    def _asked(self, program: str, files: Sequence[str], folder: Path) -> Sequence[str]:
        if self.is_over:
            return ()
        command = (
            program, "--no-config", "--no-ignore", "--hidden", "--no-follow", "--no-messages", "--no-pre",
            "--no-search-zip", "--crlf", "--color=never", "--files-with-matches", "--null", "--regexp", self._pattern,
            "--", *(f"./{file}" for file in files),
        )  # fmt: skip
        try:
            process = subprocess.Popen(
                command, cwd=folder, env={}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except (OSError, ValueError):
            return files
        while True:
            try:
                output, _ = process.communicate(timeout=0.05)
                break
            except subprocess.TimeoutExpired:
                if self.is_over:
                    process.kill()
        if process.returncode not in (0, 1):  # it does not understand the expression, or could not read a file
            return files
        matching = {name.removeprefix(b"./") for name in output.split(b"\0")}
        return [file for file in files if file.encode("utf-8", "surrogateescape") in matching]


def is_simple(pattern: str) -> bool:
    """Whether an expression finds the same lines alone and in a text, in Python and in ripgrep."""
    return bool(_SIMPLE.fullmatch(pattern.removeprefix("(?i)"))) and not _POSSESSIVE.search(pattern)


def find_ripgrep(folder: Path) -> str | None:
    """The installed ripgrep; never a program in the folder."""
    found = shutil.which("rg")
    return found if found and Path(found).is_absolute() and not is_inside(found, folder) else None


def _compiled(pattern: str, *, in_text: bool = False) -> Any:
    import regex

    if len(pattern) > LONGEST_PATTERN_CHARS:
        raise ValueError(
            f"The regular expression has {len(pattern):,} characters; at most {LONGEST_PATTERN_CHARS:,} are allowed."
        )
    try:
        return regex.compile(pattern, regex.MULTILINE if in_text else 0)
    except (regex.error, RecursionError, OverflowError) as error:
        raise ValueError(f"Invalid regex pattern: {error}") from None


def _excerpt(line: str, at: int) -> str:
    if len(line) <= LINE_CHARS:
        return line
    begin = max(0, at - _BEFORE_MATCH_CHARS)
    end = begin + LINE_CHARS
    return f"{'…' * (begin > 0)}{line[begin:end]}{'…' * (end < len(line))}"


def _batches(files: Sequence[str]) -> Iterator[Sequence[str]]:
    batch: list[str] = []
    chars = 0
    for file in files:
        batch.append(file)
        chars += len(file) + 8
        if chars > _BATCH_CHARS:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch
