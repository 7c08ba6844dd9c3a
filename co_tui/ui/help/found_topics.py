"""Finds topics of the help by what their pages say."""

import re
import textwrap
from collections.abc import Sequence
from functools import cache
from typing import Final

from co_tui.help import TOPICS, Topic, page
from co_tui.ui.help.sections import Row
from co_tui.ui.keys.search_words import is_found

SHOWN_CHARS: Final = 160
LITTLE_WORDS: Final = frozenset({"a", "an", "the", "my", "i", "me", "to", "of", "on", "for", "how", "do", "can"})
"""Typed with a question, and no help in finding its answer."""
_NAMED, _WANTED, _SAID, _NOWHERE = range(4)
"""How a topic was found, best first."""


def found_topics(words: Sequence[str]) -> tuple[list[Row], list[Row]]:
    """The topics about all of these lowercase words, by name, then by what people want to do; then those that only
    mention them, with the passage. Without words, all are of the first kind."""
    wanted = [word for word in words if word not in LITTLE_WORDS] or words
    ranked = sorted((_ranked(topic, wanted) for topic in TOPICS), key=lambda each: each[0])
    return [row for rank, row in ranked if rank < _SAID], [row for rank, row in ranked if rank == _SAID]


def _ranked(topic: Topic, words: Sequence[str]) -> tuple[int, Row]:
    named = " ".join((topic.name, *topic.other_names))
    is_named = all(word in named for word in words)
    if words:
        wanted, said = passages(topic)
        for rank, texts in ((_WANTED, wanted), (_SAID, () if is_named else said)):
            for text in texts:
                if is_found(words, text):
                    return _NAMED if is_named else rank, (topic.name, _shortened(text))
    return _NAMED if is_named else _NOWHERE, (topic.name, topic.line)


def _shortened(text: str) -> str:
    return textwrap.shorten(text, SHOWN_CHARS, placeholder=" …")


@cache
def passages(topic: Topic) -> tuple[list[str], list[str]]:
    """The rows of the table that a page begins with; then everything else, by paragraph, item and row. No markup."""
    first, _, rest = page(topic).partition("\n## ")
    rows = [line for line in first.splitlines() if line.startswith("| ")][1:]
    others = [line for line in first.splitlines() if not line.startswith("|")]
    return [_plain(row) for row in rows], [*map(_plain, re.split(r"\n(?=\n|\| |- |\d\. )", "\n".join([*others, rest])))]


def _plain(part: str) -> str:
    if part.startswith("| "):
        cells = part.strip("| ").replace("\\|", "\0").split("|")
        part = ": ".join(cell.strip() for cell in cells if cell.strip()).replace("\0", "|")
    return " ".join(re.sub(r"[`*]|^- |^#+ ", "", part.strip(), flags=re.MULTILINE).split())
