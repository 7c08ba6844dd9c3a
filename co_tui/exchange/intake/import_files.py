"""Import many files, one at a time; one that cannot be read does not stop the rest."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from co_tui.events.wording import counted
from co_tui.exchange.importers import ImportedSession, ImportRefused, load
from co_tui.exchange.intake.growth import Reading
from co_tui.exchange.intake.take_in import Outcome, TakenIn, look_up, take_in
from co_tui.inert import one_line
from co_tui.paths import path_text
from co_tui.store.port import Store
from co_tui.store.sync.placing import Carry

ERROR_CHARS = 200


class FileImport(NamedTuple):
    """What came of one file."""

    file: Path
    sessions: tuple[tuple[ImportedSession, TakenIn], ...] = ()
    refused: tuple[str, ...] = ()
    """A sentence for the file, or for each session of it, that was not imported."""


@dataclass(slots=True)
class ImportTally:
    """What came of all files so far."""

    files: int = 0
    new: int = 0
    grown: int = 0
    forks: int = 0
    known: int = 0
    refused: int = 0
    better: int = 0
    """Sessions that an older reader imported, and that this one reads better."""
    again: int = 0
    """Those of them that were read again."""

    def add(self, done: FileImport) -> None:
        self.files += 1
        self.refused += bool(done.refused)
        for _, taken in done.sessions:
            self.better += taken.reading in (Reading.BETTER, Reading.AGAIN)
            self.again += taken.reading is Reading.AGAIN
            match taken.outcome:
                case Outcome.NEW:
                    self.new += 1
                case Outcome.CONTINUED:
                    self.grown += 1
                case Outcome.FORKED:
                    self.forks += 1
                case Outcome.KNOWN:
                    self.known += 1

    @property
    def offer(self) -> str:
        """That some could be read again, in a sentence; empty for none."""
        left = self.better - self.again
        return f"{counted(left, 'session')} can be read better now: `co-tui import --again`." if left else ""

    @property
    def sessions(self) -> int:
        return self.new + self.grown + self.forks + self.known

    @property
    def text(self) -> str:
        """The numbers for people; those that are 0 are left out, but for the imported ones."""
        parts = (
            f"{counted(self.new, 'session')} imported",
            f"{self.grown - self.again:,} continued" if self.grown > self.again else "",
            f"{self.again:,} read again" if self.again else "",
            f"{counted(self.forks, 'fork')} imported" if self.forks else "",
            f"{self.known:,} already imported" if self.known else "",
            f"{counted(self.refused, 'file')} not imported" if self.refused else "",
        )
        return ", ".join(filter(None, parts))


def import_files(
    store: Store,
    files: Iterable[Path],
    *,
    dry_run: bool = False,
    of_folders: Collection[Path] = (),
    carry: Carry | None = None,
    again: bool = False,
    begun: Callable[[str], object] = lambda _work: None,
) -> Iterator[FileImport]:
    """Import each file in turn; with `dry_run` only find out what would be done. Raises `StoreError`.

    What is `of_folders` restores no session that was deleted. `carry` copies the files of one that becomes a fork.
    With `again` what older readers imported is read again. `begun` gets each step's work in words, before it.
    """
    for file in files:
        from_folder = file in of_folders
        one = partial(look_up, store) if dry_run else partial(take_in, store, carry=carry)
        yield _import(partial(one, from_folder=from_folder, again=again), file, begun)


def _import(take: Callable[[ImportedSession], TakenIn], file: Path, begun: Callable[[str], object]) -> FileImport:
    name = one_line(path_text(file), ERROR_CHARS)
    try:
        begun(f"Reading {name}")
        found = load(file)
    except ImportRefused as refused:
        return FileImport(file, refused=(str(refused),))
    except Exception as error:  # a file that no reader foresaw must not stop the others
        why = f"{type(error).__name__}: {one_line(str(error), ERROR_CHARS)}"
        return FileImport(file, refused=(f"Cannot import {path_text(file)}: {why}.",))
    taken: list[tuple[ImportedSession, TakenIn]] = []
    refusals: list[str] = []
    for session in found:
        try:
            begun(f"Storing {counted(len(session.messages), 'message')} of {name}")
            taken.append((session, take(session)))
        except ImportRefused as refused:
            refusals.append(str(refused))
    return FileImport(file, tuple(taken), tuple(refusals))
