"""What an importer declares; each module in `programs` has a tuple of them, `IMPORTERS`."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from co_tui.exchange.importers.database import Database
from co_tui.exchange.importers.foreign_files import Document, TextDocument
from co_tui.exchange.importers.imported import ImportedSession

OWN, MARKED, LOOSE, ANY_CHAT = range(4)
"""How an importer recognises files; the strictest is asked first.

Our own format, the marks of one program, marks that others might use, anything that looks like a conversation.
"""


class DocumentImporter(NamedTuple):
    """Imports files of JSON."""

    label: str
    """The program's name, for people."""
    recognises: Callable[[Document], bool]
    load: Callable[[Document], list[ImportedSession]]
    looseness: int = MARKED


class DatabaseImporter(NamedTuple):
    """Imports SQLite files."""

    label: str
    recognises: Callable[[Database], bool]
    load: Callable[[Database], Iterable[ImportedSession]]
    looseness: int = MARKED


class TextImporter(NamedTuple):
    """Imports files that are not JSON."""

    label: str
    recognises: Callable[[str], bool]
    """By how the text begins."""
    load: Callable[[TextDocument], list[ImportedSession]]
    looseness: int = MARKED


Importer: TypeAlias = DocumentImporter | DatabaseImporter | TextImporter
