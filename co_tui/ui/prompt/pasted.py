"""Long pastes are shown as a marker in the prompt and sent in full. Independent of the screen."""

import re

FOLDED_FROM_LINES = 10
FOLDED_FROM_CHARS = 2_000
SLOW_FROM_CHARS = 10_000
SLOW_FROM_LINE_CHARS = 3_000
"""Beyond this, typing in the prompt lags."""
_NO_BREAK_SPACE = "\u00a0"
"""In markers, so that the same words typed by hand stay what they are."""
_MARKER = re.compile(rf"\[pasted{_NO_BREAK_SPACE}[^\]\n]*\]")


class PastedTexts:
    """Texts by marker."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """The text itself, or a marker if it is long."""
        is_long = text.count("\n") >= FOLDED_FROM_LINES or len(text) > FOLDED_FROM_CHARS
        return self._marker(text) if is_long or self._quotes_marker(text) else text

    def fold_if_slow(self, text: str) -> str:
        """The text itself, or a marker if editing it would be slow."""
        is_slow = len(text) > SLOW_FROM_CHARS or max(map(len, text.split("\n"))) > SLOW_FROM_LINE_CHARS
        return self._marker(text) if is_slow or self._quotes_marker(text) else text

    def _quotes_marker(self, text: str) -> bool:
        """Whether it holds the marker of another text, copied from the screen."""
        return self.unfold(text) != text

    def _marker(self, text: str) -> str:
        lines = text.count("\n") + 1
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        marker, number = _marker_for(size), 2
        while self._texts.get(marker, text) != text:
            marker, number = _marker_for(f"{size} · {number}"), number + 1
        self._texts[marker] = text
        return marker

    def unfold(self, text: str) -> str:
        """The text with every marker replaced by its text."""
        return _MARKER.sub(lambda found: self._texts.get(found[0], found[0]), text)

    def text_of(self, marker: str) -> str:
        return self._texts[marker]

    def marker_before(self, text: str) -> str | None:
        """The marker at the end of the text."""
        return next((marker for marker in self._texts if text.endswith(marker)), None)

    def marker_near(self, line: str, column: int) -> str | None:
        """The marker at or right before the column, else the last one of the line."""
        places = [(line.rfind(marker), marker) for marker in self._texts if marker in line]
        touching = [marker for at, marker in places if at <= column <= at + len(marker)]
        return touching[0] if touching else max(places)[1] if places else None


def _marker_for(size: str) -> str:
    return f"[pasted {size}]".replace(" ", _NO_BREAK_SPACE)
