"""A text area that survives the keys on which Textual's own fails."""

from typing import overload

from textual.widgets import TextArea
from textual.widgets.text_area import Document, DocumentNavigator, EditResult, Location, WrappedDocument

from co_tui.inert import inert
from co_tui.ui.textual_internals import TextAreaInternals


def with_newlines(text: str) -> str:
    """A pasted text with the line ends that a text area knows; terminals send others."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


class RawDocument(Document):
    """Holds the text as it is: lines end at newlines only, while Textual also ends them at form feeds and others.

    `lines` are inert, to be measured as they are drawn; the whole text and its ranges are as written."""

    def __init__(self, text: str) -> None:
        super().__init__("")
        self._written = super().lines
        self._written[:] = text.split("\n")
        self._drawn = list(map(inert, self._written))

    @property
    def lines(self) -> list[str]:
        return self._drawn

    @overload
    def __getitem__(self, line_index: int) -> str: ...

    @overload
    def __getitem__(self, line_index: slice) -> list[str]: ...

    def __getitem__(self, line_index: int | slice) -> str | list[str]:
        return self._drawn[line_index]

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        (top, first), (bottom, last) = sorted((start, end))
        replaced, lines = self.get_text_range(start, end), self._written
        behind = "".join(lines[bottom : bottom + 1])[last:]
        inserted = ("".join(lines[top : top + 1])[:first] + text).split("\n")
        end_location = (top + len(inserted) - 1, len(inserted[-1]))
        inserted[-1] += behind
        lines[top : bottom + 1] = inserted
        self._drawn[top : bottom + 1] = map(inert, inserted)
        return EditResult(end_location, replaced)


class SafeTextArea(TextAreaInternals, TextArea):
    """Holds the text as it is and draws it inert. Undo works also where it removes the line that the cursor is on."""

    def use_document(self, text: str) -> None:
        self.document = RawDocument(text)
        self.wrapped_document = WrappedDocument(self.document, tab_width=self.indent_width)
        self.navigator = DocumentNavigator(self.wrapped_document)
