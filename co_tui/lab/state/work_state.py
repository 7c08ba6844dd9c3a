"""Where the work stands, and how much of it a request states: files changed, commands that fail, conclusions.

Read from the transcript and the request alone, by patterns of its own, so that any program's requests can be judged.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart

from co_tui.lab.message_text import message_text, part_text
from co_tui.lab.state.outcomes import bare_command, only_looks, outcome_of
from co_tui.lab.state.shell_changes import changed_files, patched_files
from co_tui.lab.state.steps import SEARCH, Step, StepReader

_NOT_PROSE: Final = re.compile(
    r"^```.*?(?:^```|\Z)|^<<<<<<< SEARCH.*?^>>>>>>> REPLACE|<(command|function|source|tool_call)\b.*?(?:</\1>|\Z)",
    re.DOTALL | re.MULTILINE,
)
_LIST_MARK: Final = re.compile(r"^\s*(?:[-*•>#]+|\d+[.)])\s+")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])[\"')\]*]*(?:\s+(?=[^a-z])|(?<=[。！？]))")
_ANNOUNCES: Final = re.compile(
    r"\W*(?:(?:ok|okay|now|next|first|then|so|great|good|perfect|alright|sure|certainly|yes|and|finally|but)\b[\s,.!:]*)*"
    r"(?:let me|let's|let us|i'll|i will|i'm going to|i am going to|i need to|i should|i want to|i can now|"
    r"we'll|we will|we need to|we should|here's|here is|here are|please|could you|would you|do you|may i|can you|"
    r"if you|thank you|让我|我来|我将|现在|接下来)",
    re.IGNORECASE,
)
WORD: Final = re.compile(r"[぀-ヿ㐀-鿿가-힯]|[^\W぀-ヿ㐀-鿿가-힯]+")
"""A word; each character of a script without blanks is one."""
_PLAIN_WORD: Final = re.compile(r"\w+")
FEWEST_WORDS: Final = 5

NEWEST: Final = 5
"""So many failing commands and conclusions count; of changed files, all."""
GIVEN_UP_STEPS: Final = 30
"""After so many steps, what failed and was not run again is no longer under way."""
_FILE_WORD: Final = re.compile(r"[\w./-]*[\w-]\.[A-Za-z]\w{0,4}(?![\w.])")
HEAD_CHARS: Final = 40
ERROR_CHARS: Final = 80
"""A line counts as stated if it begins with this much of the original."""
WORDS_ON_A_LINE: Final = 0.8
"""A conclusion is also stated by a line with this share of its words."""
_EDITS: Final = re.compile(r"edit|write|create|insert|replace|patch|delete|remove|move|rename", re.IGNORECASE)
_PATH: Final = re.compile(
    r"^(?:\w*_)?(?:path|file|filename|filepath)$|^(?:file|notebook|target)_?(?:path|file|name)$", re.IGNORECASE
)
_OPEN_FILE: Final = re.compile(r"\(Open file: ([^)\n]+)\)")
_AGENT_EDIT: Final = re.compile(r"(create|edit|insert|str_replace)\b[ \t]*(\S*)")


class Stated(NamedTuple):
    """How many facts of each kind there are, and how many a request states."""

    files: int = 0
    files_stated: int = 0
    failing: int = 0
    failing_stated: int = 0
    conclusions: int = 0
    conclusions_stated: int = 0

    @property
    def share(self) -> float | None:
        """The mean share of the kinds that there are; None if there is none."""
        counts = ((self.files, self.files_stated), (self.failing, self.failing_stated))
        shares = [stated / all_ for all_, stated in (*counts, (self.conclusions, self.conclusions_stated)) if all_]
        return sum(shares) / len(shares) if shares else None


class _Fact:
    """Something that a message may state; each is one object, which is found faster than an equal value."""

    __slots__ = ("fewest", "kind", "longest", "text", "words")

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        self.text = text
        self.words = words_of(text) if kind == "words" else []
        different = sorted(set(self.words), key=len, reverse=True)
        self.fewest = WORDS_ON_A_LINE * len(different)
        """Different words that a line must have."""
        self.longest = different[: int(len(different) - self.fewest) + 1]
        """A text without any of these has too few."""


class _Failed(NamedTuple):
    """A call that failed: by what a text may refer to it, and when it no longer matters."""

    head: _Fact
    error: _Fact
    step: int
    program: str
    files: frozenset[str]
    """The names of the files it was run on."""

    def is_mended_by(self, program: str, files: frozenset[str]) -> bool:
        """Whether a call that went well ran the same on the same file."""
        return bool(self.files & files) and program == self.program


class WorkState:
    """The state of the work of a growing conversation."""

    def __init__(self) -> None:
        self._steps = StepReader()
        self._files: dict[str, _Fact] = {}
        self._failing: dict[str, _Failed] = {}
        self._taken = 0
        self._conclusions: list[_Fact] = []
        self._open_file = ""
        self._texts: dict[int, _Text] = {}
        self._found_in: dict[_Fact, int] = {}
        """The message that stated a fact last; most stay in the next request."""

    def add(self, message: ModelMessage) -> None:
        """Add the next message of the conversation."""
        if isinstance(message, ModelResponse):
            text = message.text or ""
            for path in searched_files(text):
                self._change(path)
            if conclusion := conclusion_of(text):
                self._conclusions = [*self._conclusions, _Fact("words", conclusion)][-NEWEST:]
        for step in self._steps.add(message):
            self._take(step)

    def stated_in(self, request: Sequence[ModelMessage]) -> Stated:
        """What a request states of the work so far."""
        texts = {id(message): self._text_of(message) for message in reversed(request)}
        failing = [
            (each.head, each.error) for each in self._failing.values() if self._taken - each.step <= GIVEN_UP_STEPS
        ][-NEWEST:]

        def is_stated(fact: _Fact) -> bool:
            if self._found_in.get(fact) in texts:
                return True
            for place, each in texts.items():
                if each.states(fact):
                    self._found_in[fact] = place
                    return True
            return False

        return Stated(
            len(self._files),
            sum(map(is_stated, self._files.values())),
            len(failing),
            sum(is_stated(head) and is_stated(error) for head, error in failing),
            len(self._conclusions),
            sum(map(is_stated, self._conclusions)),
        )

    def _text_of(self, message: ModelMessage) -> "_Text":
        found = self._texts.get(id(message))
        if found is None or found.message is not message:
            found = self._texts[id(message)] = _Text(message)
        return found

    def _take(self, step: Step) -> None:
        failed, error = outcome_of(step)
        key, head = _key_and_head(step)
        self._failing.pop(key, None)
        self._taken += 1
        program, files = _ran(step)
        if failed and head and error and not only_looks(step):
            facts = _Fact("line", head), _Fact("line", error[:ERROR_CHARS].rstrip())
            self._failing[key] = _Failed(*facts, self._taken, program, files)
        elif not failed:
            removes = program == "rm"
            over = [
                key
                for key, each in self._failing.items()
                if each.is_mended_by(program, files)
                or (removes and each.files & files)
                or (each.program == program and self._are_tries(each.files) and self._are_tries(files))
            ]
            for each in over:
                del self._failing[each]
        for path in self._changed(step, failed=failed):
            self._change(path)
        if opened := _OPEN_FILE.search(step.result):
            self._open_file = "" if opened[1] == "n/a" else opened[1]

    def _are_tries(self, files: frozenset[str]) -> bool:
        """Whether these are files that the conversation wrote, other than tests: of those, one replaces another."""
        written = {path.rpartition("/")[2] for path in self._files}
        return bool(files) and files <= written and not any("test" in name.lower() for name in files)

    def _changed(self, step: Step, *, failed: bool) -> Iterable[str]:
        if command := step.command:
            if not step.tool and (edit := _AGENT_EDIT.match(command)):
                return [edit[2]] if edit[1] == "create" else [self._open_file]
            return changed_files(command)
        if failed or not _EDITS.search(step.tool):
            return ()
        if step.arguments.get("command") == "view":
            return ()
        named = [value for name, value in step.arguments.items() if _PATH.search(name) and isinstance(value, str)]
        patched = patched_files("\n".join(str(value) for value in step.arguments.values()))
        return patched or named[:1] or [self._open_file]

    def _change(self, path: str) -> None:
        """Note a changed file, once: a path may be written from another folder."""
        tail = tail_of(path)
        if not tail or any(f"/{tail}".endswith(f"/{known}") for known in self._files):
            return
        for longer in [known for known in self._files if known.endswith(f"/{tail}")]:
            del self._files[longer]
        self._files[tail] = _Fact("file", tail)


class _Text:
    """The text of one message, and which facts it states; each is looked for once."""

    def __init__(self, message: ModelMessage) -> None:
        self.message = message
        self.lines = "\n".join(" ".join(line.split()) for line in _shown_text(message).splitlines())
        self._lower = self.lines.lower()
        self._words = ""
        self._vocabulary: frozenset[str] = frozenset()
        self._word_lines: list[frozenset[str]] | None = None
        self._states: dict[_Fact, bool] = {}

    def states(self, fact: _Fact) -> bool:
        found = self._states.get(fact)
        if found is None:
            found = self._states[fact] = self._finds(fact)
        return found

    def _finds(self, fact: _Fact) -> bool:
        match fact.kind:
            case "file":
                return fact.text in self.lines and bool(_path_pattern(fact.text).search(self.lines))
            case "line":
                return all(piece in self.lines for piece in fact.text.split("\n"))
        return any(word in self._lower for word in fact.longest) and self._says(fact)

    def _says(self, fact: _Fact) -> bool:
        if not self._words:
            spoken = words_of(self.lines)
            self._words, self._vocabulary = f" {' '.join(spoken)} ", frozenset(spoken)
        wanted = frozenset(fact.words)
        if len(wanted & self._vocabulary) < fact.fewest:
            return False
        if f" {' '.join(fact.words)} " in self._words:
            return True
        if self._word_lines is None:
            self._word_lines = [frozenset(words_of(line)) for line in self.lines.splitlines()]
        return any(len(line & wanted) >= fact.fewest for line in self._word_lines)


def searched_files(reply: str) -> list[str]:
    """The files of the SEARCH/REPLACE blocks of a reply: named on one of the lines before each block."""
    if SEARCH not in reply:
        return []
    found, lines = [], reply.splitlines()
    for number, line in enumerate(lines):
        if line.strip() == SEARCH:
            before = (each.strip().strip("`*#: ") for each in reversed(lines[max(0, number - 3) : number]))
            found += [
                each
                for each in before
                if re.fullmatch(r"[\w./@+-]*[\w-]\.\w+|[\w./@+-]+/[\w.@+-]+|Makefile|Dockerfile", each)
            ][:1]
    return found


def tail_of(path: str) -> str:
    """The last two names of a path, by which a text may refer to it."""
    names = [name for name in path.strip().replace("\\", "/").split("/") if name not in ("", ".", "..", "~")]
    return "/".join(names[-2:])


def _path_pattern(tail: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-]){re.escape(tail)}(?![\w/-]|\.\w)")


def _ran(step: Step) -> tuple[str, frozenset[str]]:
    """The program or tool of a step, and the names of the files it was run on."""
    command = bare_command(step.command).split("\n", 1)[0]
    text = command or " ".join(
        value for name, value in step.arguments.items() if _PATH.search(name) and isinstance(value, str)
    )
    names = frozenset(word.rpartition("/")[2] for word in _FILE_WORD.findall(text))
    return (command.split()[0] if command else "edit" if _EDITS.search(step.tool) else step.tool), names


def _key_and_head(step: Step) -> tuple[str, str]:
    """What makes two calls the same, and the head by which a text refers to one."""
    if command := bare_command(step.command):
        return " ".join(command.split()), " ".join(command.split("\n", 1)[0].split())[:HEAD_CHARS].rstrip()
    first = next((value for value in step.arguments.values() if isinstance(value, str)), "")
    line = " ".join(first.split("\n", 1)[0].split())[:HEAD_CHARS].rstrip()
    return f"{step.tool}\n{first}", f"{step.tool}\n{line}"


def _shown_text(message: ModelMessage) -> str:
    """The text of a message with the names of called tools."""
    if not isinstance(message, ModelResponse):
        return message_text(message)
    return "\n".join(_named(part) for part in message.parts)


def _named(part: Any) -> str:
    return f"{part.tool_name} {part_text(part)}" if isinstance(part, ToolCallPart) else part_text(part)


def words_of(text: str) -> list[str]:
    lower = text.lower()
    return _PLAIN_WORD.findall(lower) if lower.isascii() else WORD.findall(lower)


def conclusion_of(reply: str) -> str:
    """The last sentence of a reply's prose that does not announce, ask or request anything; empty if there is none."""
    for line in reversed(_NOT_PROSE.sub("\n", reply).splitlines()):
        for sentence in reversed(_SENTENCE_END.split(_LIST_MARK.sub("", line).strip())):
            if _concludes(sentence):
                return sentence.strip()
    return ""


def _concludes(sentence: str) -> bool:
    asks = sentence.rstrip("*_ ").endswith((":", "?", "：", "？"))
    return not asks and not _ANNOUNCES.match(sentence) and len(words_of(sentence)) >= FEWEST_WORDS
