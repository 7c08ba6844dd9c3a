"""The replies that stream, and the prompts that ask for them."""

import re
from typing import Final, NamedTuple

CHUNK_CHARS: Final = 4
_SENTENCES: Final = (
    "The parser reads **one line** at once and keeps what it has seen in `state.seen`, so that nothing is read twice. "
    "When the file ends in the middle of a record, the rest is kept for the next call. "
    "See src/reader.py for the loop, and tests/test_reader.py for what happens at its end.\n\n"
)
_CODE: Final = "def answer(question: str) -> str:  # a comment\n    return question.upper() + str(len(question))\n\n"
_ROW: Final = "| item {n} | a few words about it | {n} | yes |\n"
_WIDE_ROW: Final = (
    "| item {n} | " + "a long description that needs more than one line of the table " * 2 + "| {n} | yes |\n"
)
_HEAD: Final = "| name | about | number | done |\n|---|---|---|---|\n"
_LINE: Final = "words without any end of a line, and more of them, "
NUMBERS: Final = "numbers"
"""Words with a number each, in paragraphs: what is missing in a picture of them is seen."""
_WORDS_EACH: Final = 40
_NUMBER: Final = re.compile(r"\bw(\d{5})\b")
KINDS: Final = ("prose", "code", "table", "wide table", "long line")
_PROMPT: Final = re.compile(r"Stream (\d+) chunks of ([a-z ]+?) at (\d+)/s\.")


class Wanted(NamedTuple):
    """A reply: what it consists of, how long it is, and how fast it comes."""

    kind: str
    chunks: int
    per_s: int = 0
    """Chunks a second; 0 is as fast as they are read."""

    @property
    def prompt(self) -> str:
        return f"Stream {self.chunks} chunks of {self.kind} at {self.per_s}/s."

    @property
    def last_word(self) -> str:
        return f"finis{self.kind[0]}{self.chunks}x{self.per_s}"

    @property
    def text(self) -> str:
        chars = self.chunks * CHUNK_CHARS
        fence = "\n```" if self.kind == "code" else ""
        end = f"{fence}\n\n{self.last_word}"
        return self._body(chars - len(end)) + end

    def _body(self, chars: int) -> str:
        match self.kind:
            case "prose":
                return _repeated(_SENTENCES, chars)
            case "code":
                return _repeated(_CODE, chars, "```python\n")
            case "long line":
                return _repeated(_LINE, chars)
            case "numbers":
                words = [f"w{n:05}" for n in range(chars // 7 + 1)]
                paragraphs = (" ".join(words[at : at + _WORDS_EACH]) for at in range(0, len(words), _WORDS_EACH))
                return "\n\n".join(paragraphs)[:chars].ljust(chars, ".")
            case kind:
                row = _WIDE_ROW if kind == "wide table" else _ROW
                return _HEAD + "".join(row.format(n=n) for n in range(chars // len(row) + 1))[: chars - len(_HEAD)]


def _repeated(text: str, chars: int, head: str = "") -> str:
    return (head + text * (chars // len(text) + 1))[:chars].rstrip().ljust(chars, ".")


def wanted_in(prompt: str) -> Wanted | None:
    """The reply that the last prompt in a request asks for."""
    found = _PROMPT.findall(prompt)
    return Wanted(found[-1][1], int(found[-1][0]), int(found[-1][2])) if found else None


def numbers_in(text: str) -> list[int]:
    """The numbers of the words of `NUMBERS`."""
    return [int(number) for number in _NUMBER.findall(text)]
