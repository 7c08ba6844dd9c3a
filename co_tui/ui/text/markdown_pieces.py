"""Pieces of Markdown, and the context that a piece needs to be read as in the whole."""

from typing import NamedTuple

MARKER = "\U0010fffd"
"""Stands for text that was drawn already. A private character, which no font has."""


class Lead(NamedTuple):
    """What is put before a piece so that it is read as in the whole."""

    text: str = ""
    rows: int = 0
    """How many lines with a marker are not drawn."""
    starts: tuple[int | None, ...] = ()
    """The first numbers of the lists that it begins with."""
    is_table: bool = False
    """Whether it ends with the header of a table that continues; the header is drawn again."""
    hangs: bool = False
    """Whether it ends with a marker, which is not drawn: a paragraph of a list or quotation continues."""
    flows: bool = False
    """Whether a paragraph continues on the line drawn last."""
    space: str = ""
    """What is between that line and the piece."""


NO_LEAD = Lead()


class LongCut(NamedTuple):
    """Where a long block is cut, and the lead of the rest."""

    at: int
    lead: Lead
    joined: bool = True


class MarkdownPiece(NamedTuple):
    """A final piece of Markdown, or the tail that may still change."""

    text: str
    language: str | None = None
    """The language of a code block's lines; None for other Markdown."""
    joined: bool = False
    """Whether it continues the piece before, without a gap."""
    indent: int = 0
    """Indent as part of a list item; the text itself is not indented."""
    lead: Lead = NO_LEAD
    flows_on: bool = False
    """Whether the next piece continues its last line."""


class OpenItem(NamedTuple):
    """A list item that contains a line."""

    indent: int
    """Where its text begins."""
    line: int
    stub: str
    """Its first line up to its text."""
    number: int | None
    """None in a list without numbers."""
