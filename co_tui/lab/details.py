"""Which details a message holds, so that it can be told whether a later message's were still in its request."""

import re
from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart

from co_tui.events.content import content_text

# Nothing is looked at twice: no run gives back what it took, and plain words are stepped over at once.
_DETAIL = re.compile(
    r"(?:[a-z]++(?![\w.~/-])|[^\w.~-]++)++"  # no detail
    r"|((?<![\w.~-])(?:[\w.~-]++/)+[\w.-]+"  # paths
    r"|\b(?:\w++\.[a-z]{1,4}\b"  # files and dotted names
    r"|[a-zA-Z]++(?:_[a-zA-Z0-9]++)++\b"  # snake_case
    r"|[a-z]++[A-Z]\w+|[A-Z][a-z]++[A-Z]\w+"  # camelCase
    r"|(?=[^\W\d]*+\d)(?=[^\Wa-zA-Z]*+[a-zA-Z])\w{4,}+"  # codes
    r"|\d{3,}+\b"  # numbers
    r"|(?<=[a-z,] )[A-Z][a-z]{2,}+\b))"  # names within a sentence
)


class Details:
    """Remembers the details of each message."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[ModelMessage, frozenset[str]]] = {}

    def of(self, message: ModelMessage) -> frozenset[str]:
        found = self._known.get(id(message))
        if found is None or found[0] is not message:
            found = (message, frozenset(filter(None, _DETAIL.findall(_text(message)))))
            self._known[id(message)] = found
        return found[1]

    def kept(self, needed: frozenset[str], request: Sequence[ModelMessage]) -> int:
        """How many of the needed details some message of the request holds."""
        missing = needed
        for message in reversed(request):  # what is needed was mostly said just before
            if not missing:
                break
            missing = missing - self.of(message)
        return len(needed) - len(missing)


def _text(message: ModelMessage) -> str:
    pieces = []
    for part in message.parts:
        if isinstance(part, TextPart):
            pieces.append(part.content)
        elif isinstance(part, ToolCallPart):
            pieces.append(content_text(part.args) if part.args else "")
        elif not isinstance(message, ModelResponse):
            pieces.append(content_text(getattr(part, "content", "")))
    return "\n".join(pieces)
