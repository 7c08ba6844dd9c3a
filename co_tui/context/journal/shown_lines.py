"""The lines of a text that a journal may show, and which of them stood next to each other."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from co_tui.context.memory.transcript_lines import LinePosition, lines_of
from co_tui.events.stored_messages import NOT_A_HEADING
from co_tui.late_pattern import late_pattern
from co_tui.terminal_text import without_escapes

FIRST, UNKNOWN = -1, -2
"""The line before: there is none, or it is not known."""
LEAST_LISTED: Final = 5
LISTED_SHARE: Final = 0.8
"""A text whose lines are names to this share is a listing."""
_CONTROL: Final = late_pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_ENVELOPE: Final = late_pattern(
    r"</?[A-Za-z][\w-]{0,30}>(?:\s*-?\d{0,4}\s*</[A-Za-z][\w-]{0,30}>)?"  # a tag, or an exit code within one
    r"|(?:Chunk ID|Wall time|Original token count|Total output lines|Process Group PGID|Background PIDs|Directory): .*"
    r"|(?:Output|Error|Signal|Stdout|Stderr):(?: \(none\)| 0)?|\(no output\)"
    r"|(?:\[?(?:Process|Command) exited with (?:exit )?code|\[?[Ee]xit [Cc]ode:?) -?\d+\.?\]?"
    r"|\[?(?:The )?[Cc]ommand (?:completed|finished|executed|failed)(?: with (?:exit )?code:? -?\d+)?\.?\]?"
    r"|\[(?:Current working directory|Python interpreter): .*\]|\((?:Open file|Current directory): .*\)|bash-\$"
    r"|\[(?:stdout|stderr)\]|\[took [\d.]+ s\]|\[exit code: -?\d+\].*"
    r"|Waiting for the debugger to disconnect\.\.\.|Debugger attached\."
    r"|EXECUTION RESULT of \[.*\]:|\[[\w ]+ for '.*'\] Result:|OBSERVATION:"
    r"|[-+ ]?[ \t]*(?:#|//|\*|/\*)[ \t]*Copyright\b.*"
    r"|WARNING: (?:Running pip as the 'root' user|Retrying \(Retry).*"
    r"|\[notice\] (?:A new release of pip|To update, run).*"
)
"""A line that wraps a result, or a notice that says nothing about it, nor about a file."""
_PROGRESS: Final = late_pattern(
    r".*(?:\d{1,3}%\s*[|\[(]|[|\[][#=>█▏▎▍▌▋▊▉━╸╺ .-]{6,}[|\]]|[━█]{6,}).*"
    r"|\s*(?:\d+\s+){2,12}[\d.kMG]*\s.*--:--:--.*|\s*% Total\s+% Received.*|\s*Dload\s+Upload.*"
)
"""A progress bar, or the table of curl."""
_LONG_LISTING: Final = late_pattern(r"[-dlbcps][rwxsStT-]{9}[+.@]?\s+\d+\s+\S+\s+\S+\s+[\d,]+\S*(?:\s+\S+){3}\s+(\S.*)")
_PLAIN_NAME: Final = late_pattern(r"[^\s(){}\[\]<>;=,\"'`]{1,160}")
_GOES_TO: Final = late_pattern(r"^cd \S+ && ")
_WORD: Final = late_pattern(r"\w+")
OF_A_MAP: Final = frozenset("│⋮├└")
_NUMBERED: Final = late_pattern(r"\d+[:-]")
NUMBER: Final = late_pattern(r"^\s*(\d{1,7})(?:[:\t→-]|\Z)")
"""Before a line of a file that is shown with numbers."""
_IDEOGRAM: Final = late_pattern(r"[\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef]")
_MARK: Final = late_pattern(rf"^\s*(?:(?:- |assistant: |user: |{NOT_A_HEADING})\s*)*")
_HEADING: Final = late_pattern(
    r"""[>*_\s]*(?:##|…|→|\[(?![\[{"'\d\]-])"""  # a header; what begins like JSON is none
    r"|- (?:\$|[\w.:-]+\()|(?:user|assistant|system|note|tool|human)\b[^:]{0,20}:"
    r"|\(\d+ more |#?\s*(?:standing rules|what the user said|where the work stands)\b"
    r"|(?:files changed|new files|files read|failed when|still failing|failed, not|plan"
    r"|concluded|last command|done|also|names|left out)\b[^:]{0,30}:|changed in\b[^:]*:"
    r"|(?:denied by the user|not allowed|undone by the user|undone later|\(as of here)\b)",
    re.I,
)
"""What could be taken for a line of ours."""


class ShownLine(NamedTuple):
    """One original line."""

    position: LinePosition
    text: str
    after: int = UNKNOWN
    """The number of the line it follows. Lines that say nothing are passed over."""
    is_last: bool = False
    is_name: bool = False
    """Whether it is one name of a listing; these are shown on one line."""

    def as_json(self) -> list[Any]:
        return [*self.position, self.text, self.after, int(self.is_last), int(self.is_name)]

    @classmethod
    def from_json(cls, value: Any) -> "ShownLine | None":
        """The stored line; None if it is invalid."""
        match value:
            case [int(message), int(part), int(line), str(text), int(after), int(last), int(name)]:
                return cls(LinePosition(message, part, line), text, after, bool(last), bool(name))
        return None

    def follows(self, other: "ShownLine") -> bool:
        """Whether it stood directly after another line."""
        if self.position[:2] != other.position[:2]:
            return False
        return self.after == other.position.line or self.position.line == other.position.line + 1


def shown_lines(
    message: int, part: int, text: str, *, in_head: str = "", is_left_out: Callable[[str], bool] | None = None
) -> list[ShownLine]:
    """The lines that may be shown, or the names of a listing: not those of the head, and none that says nothing."""
    lines = lines_of(text)
    names = _listed(lines)
    if names:
        return [
            ShownLine(LinePosition(message, part, number), name, FIRST, is_last=True, is_name=True)
            for number, name in names
        ]
    shown: list[ShownLine] = []
    before, is_open = FIRST, False
    for number, line in enumerate(lines):
        cleaned = clean(line)
        if is_empty(cleaned) or is_in_head(cleaned, in_head):
            continue
        is_open = is_single_word(cleaned) or (is_left_out is not None and is_left_out(cleaned))
        if is_open and number + 1 < len(lines):
            is_open = not names_file(cleaned, lines[number + 1])
        if not is_open:
            shown.append(ShownLine(LinePosition(message, part, number), cleaned, before))
        before = number
    if shown and not is_open:
        shown[-1] = shown[-1]._replace(is_last=True)
    return shown


def runs_of(lines: Iterable[ShownLine]) -> list[list[ShownLine]]:
    """The lines in passages: those that stood next to each other."""
    runs: list[list[ShownLine]] = []
    for line in lines:
        if runs and line.follows(runs[-1][-1]):
            runs[-1].append(line)
        else:
            runs.append([line])
    return runs


def is_in_head(line: str, head: str) -> bool:
    """Whether the head of a step says a line of its command; the folder to which it goes may be left out."""
    return bool(head) and _GOES_TO.sub("", " ".join(line.split())) in head


def clean(line: str) -> str:
    """The line without colours and control characters."""
    return _CONTROL.sub("", without_escapes(line)).rstrip()


def is_empty(line: str) -> bool:
    """Whether a line says nothing: blank, brackets, rules, carets, or the envelope of a result."""
    bare = line.strip()
    return not _WORD.search(bare) or bool(_ENVELOPE.fullmatch(bare) or _PROGRESS.fullmatch(line))


def is_single_word(line: str) -> bool:
    """Whether a line is a single word or number, which says nothing without its place."""
    if _IDEOGRAM.search(line):
        return len(_IDEOGRAM.findall(line)) < 4
    return len(_WORD.findall(line)) < 2 or len(line.split()) == 1


def names_file(line: str, following: str) -> bool:
    """Whether a line may be the name of the file that the lines after it are from."""
    return is_below_file(following) and not is_below_file(line) and line[:1].strip() != "" and " " not in line


def is_below_file(line: str) -> bool:
    """Whether a line is one of a map of the project, or has the number that it has in its file."""
    return line.lstrip()[:1] in OF_A_MAP or _NUMBERED.match(line) is not None


def safe(line: str) -> str:
    """The line, marked if it could be taken for a heading, a role or an entry."""
    return f"{NOT_A_HEADING}{line}" if _HEADING.match(line.lstrip()) else line


def bare_code(line: str) -> tuple[str, str]:
    """A line of a file with single blanks, and without a number, which may be its own or that of the line."""
    return single_blanks(line), single_blanks(NUMBER.sub("", line))


def single_blanks(line: str) -> str:
    """A line without blanks around it, and with single ones in it."""
    return " ".join(line.split())


def _listed(lines: Sequence[str]) -> list[tuple[int, str]]:
    """The names of a listing with their line numbers; none if the text is something else."""
    content = [(number, line) for number, line in enumerate(map(clean, lines)) if not is_empty(line)]
    if len(content) < LEAST_LISTED:
        return []
    names = [(number, name) for number, line in content if (name := _name(line))]
    return names if len(names) >= LISTED_SHARE * len(content) else []


def _name(line: str) -> str:
    bare = line.strip()
    if found := _LONG_LISTING.fullmatch(bare):
        return "" if found[1] in (".", "..") else found[1]
    return bare.removeprefix("./") if _PLAIN_NAME.fullmatch(bare) else ""


def indentation(lines: Iterator[str]) -> str:
    """The blanks that all lines begin with."""
    common: str | None = None
    for line in lines:
        own = line[: len(line) - len(line.lstrip())]
        if common is None:
            common = own
        while not own.startswith(common):
            common = common[:-1]
    return common or ""


def bare_lines(text: str) -> set[str]:
    """The lines of a text without marks and indentation, to find out which are shown already."""
    return set(map(bare_line, text.splitlines()))


def bare_line(line: str) -> str:
    return _MARK.sub("", line).strip()
