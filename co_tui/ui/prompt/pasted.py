"""Long pastes are shown as a marker in the prompt and sent in full. Independent of the screen."""

FOLDED_FROM_LINES = 10
FOLDED_FROM_CHARS = 2_000
SLOW_FROM_CHARS = 10_000
SLOW_FROM_LINE_CHARS = 3_000
"""Beyond this, typing in the prompt lags."""
MAX_KEPT = 50
"""Pastes kept, so that undo and earlier prompts can restore theirs."""


class PastedTexts:
    """Texts by marker."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """The text itself, or a marker if it is long."""
        if text.count("\n") < FOLDED_FROM_LINES and len(text) <= FOLDED_FROM_CHARS:
            return text
        return self._marker(text)

    def fold_if_slow(self, text: str) -> str:
        """The text itself, or a marker if editing it would be slow."""
        if len(text) <= SLOW_FROM_CHARS and max(map(len, text.split("\n"))) <= SLOW_FROM_LINE_CHARS:
            return text
        return self._marker(text)

    def _marker(self, text: str) -> str:
        lines = text.count("\n") + 1
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        marker, number = f"[pasted {size}]", 2
        while self._texts.get(marker, text) != text:
            marker, number = f"[pasted {size} · {number}]", number + 1
        self._texts[marker] = text
        while len(self._texts) > MAX_KEPT:
            del self._texts[next(iter(self._texts))]
        return marker

    def unfold(self, text: str) -> str:
        """The text with every marker replaced by its text."""
        if "[pasted " not in text:
            return text
        for marker, whole in self._texts.items():
            text = text.replace(marker, whole)
        return text

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
