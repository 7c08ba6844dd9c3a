"""Texts folded for comparison: lower case, and without accents where those are separate from the letter."""

_ACCENTS = range(0x300, 0x370)
_LETTERS_WITH_ACCENTS = (range(0x590), range(0x1E00, 0x2000))
"""Latin, Greek, Cyrillic, Armenian. In other scripts a mark makes it a different letter."""


class _Folds(dict[int, str]):
    """Each character's folding, computed on first use."""

    def __missing__(self, code: int) -> str:
        folded = chr(code).casefold()
        if any(code in letters for letters in _LETTERS_WITH_ACCENTS):
            import unicodedata  # only where there is something to fold: the first paint reads lists, too

            parts = unicodedata.normalize("NFKD", folded).casefold()
            folded = "".join(each for each in parts if ord(each) not in _ACCENTS)
        self[code] = folded
        return folded


_FOLDS = _Folds()


def folded(text: str) -> str:
    """Folds character by character, so that a substring stays a substring."""
    return text.lower() if text.isascii() else text.translate(_FOLDS)


class FoldedText:
    """A text with its folding, to map positions back."""

    def __init__(self, text: str) -> None:
        self.folded = folded(text)
        self._ends: list[int] | None = None
        if len(self.folded) != len(text):
            self._ends = [place for place, each in enumerate(text) for _ in _FOLDS[ord(each)]]

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span in the text of a span in the folding."""
        if self._ends is None or end <= start:
            return start, end
        return self._ends[start], self._ends[end - 1] + 1
