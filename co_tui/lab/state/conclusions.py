"""The sentence in which a reply concludes something."""

import re
from typing import Final

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


def words_of(text: str) -> list[str]:
    lower = text.lower()
    return _PLAIN_WORD.findall(lower) if lower.isascii() else WORD.findall(lower)


def conclusion_of(reply: str) -> str:
    """The last sentence of a reply's prose that is no announcement, question or request; empty if there is none."""
    for line in reversed(_NOT_PROSE.sub("\n", reply).splitlines()):
        for sentence in reversed(_SENTENCE_END.split(_LIST_MARK.sub("", line).strip())):
            if _concludes(sentence):
                return sentence.strip()
    return ""


def _concludes(sentence: str) -> bool:
    asks = sentence.rstrip("*_ ").endswith((":", "?", "：", "？"))
    return not asks and not _ANNOUNCES.match(sentence) and len(words_of(sentence)) >= FEWEST_WORDS
