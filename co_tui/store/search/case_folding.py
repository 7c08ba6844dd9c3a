"""Texts as they are compared: in small letters, and without accents where those are only signs beside a letter."""

_ACCENTS = range(0x300, 0x370)
_LETTERS_WITH_ACCENTS = (range(0x590), range(0x1E00, 0x2000))
"""Latin, Greek, Cyrillic, Armenian. In other scripts a sign at a letter makes another letter of it."""


class _Folds(dict[int, str]):
    """Each character's own folding, found when it is first met."""

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
    """Character by character, so that what stands in a text stands folded in the folded text."""
    return text.lower() if text.isascii() else text.translate(_FOLDS)


class FoldedText:
    """A text beside its folding, in which places are found."""

    def __init__(self, text: str) -> None:
        self.folded = folded(text)
        self._ends: list[int] | None = None
        if len(self.folded) != len(text):
            self._ends = [place for place, each in enumerate(text) for _ in _FOLDS[ord(each)]]

    def original(self, start: int, end: int) -> tuple[int, int]:
        """From where to where a stretch of the folding stands in the text."""
        if self._ends is None or end <= start:
            return start, end
        return self._ends[start], self._ends[end - 1] + 1
