"""Offers once to import the sessions that other programs keep on this machine, and imports them in the background."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from textual.app import App

from co_tui.events.wording import counted
from co_tui.store.store_errors import StoreError
from co_tui.ui.approvals.question_bar import QuestionPanel
from co_tui.ui.background import in_thread, run_in_background, start_awaited
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.control.controller import SessionController
from co_tui.ui.control.model_offers import Offer, progress_bar
from co_tui.ui.heavy_imports import import_locked

if TYPE_CHECKING:
    from co_tui.exchange.intake.import_files import FileImport, ImportTally

Found = Mapping[str, Sequence[Path]]
"""The session files of each program, by its name for people."""

ANSWERED: Final = "import-offered"
IMPORT: Final = "i"
NOTHING_FOUND: Final = "No sessions of other programs found on this machine."


class ImportOffer(Offer):
    """Looks for files after the first paint, asks, and shows the progress."""

    def __init__(self, app: App[Any], chat: ChatScreen, controller: SessionController) -> None:
        super().__init__(app, chat, controller)
        self._stopping = False

    async def offer_once(self) -> None:
        """Ask if there are no sessions here yet, but other programs have some."""
        if self._controller.launch.private or self._answers.get(ANSWERED) or not await in_thread(self._is_first_use):
            return
        found = await in_thread(self._found)
        if not found or self._controller.session is not None:
            return
        if self._chat.query(QuestionPanel):  # one question at a time
            self._chat.feed.note(f"{_numbers(found)} on this machine. /import imports them.")
            self._answers.put(ANSWERED, 1)
        else:
            self._ask(found)

    async def ask(self) -> None:
        """The same on request."""
        if self._panel is not None or self._controller.backend.importing is not None:
            return
        if found := await in_thread(self._found):
            self._ask(found)
        else:
            self._chat.feed.note(NOTHING_FOUND)

    def _is_first_use(self) -> bool:
        try:
            with self._controller.launch.store.reading() as reading:
                return not reading.count() and not reading.count(in_trash=True)
        except StoreError:
            return False  # opening a session reports it

    def _found(self) -> Found:
        """By file names alone. Runs in a thread."""
        environ = self._controller.launch.environ
        home = environ.get("HOME") or environ.get("USERPROFILE")
        if not home:
            return {}
        from co_tui.exchange.importers.default_folders import LABELS, files_of_all

        found = files_of_all(environ, Path(home))
        return {LABELS.get(program, program): files for program, files in found.items()}

    def _ask(self, found: Found) -> None:
        text = "Import copies them; the other programs keep theirs. You can keep typing."
        answers = {IMPORT: "Import", "esc": "Not now"}
        self._show(f"{_numbers(found)} on this machine", text, answers, partial(self._answered, found))

    def _answered(self, found: Found, key: str) -> None:
        self._close()
        self._answers.put(ANSWERED, 1)
        if key == IMPORT:
            self._start([file for files in found.values() for file in files])
        else:
            self._chat.feed.note("Import them later with /import.")

    def _start(self, files: Sequence[Path]) -> None:
        self._stopping = False
        self._show("Importing sessions", _progress(0, len(files), 0), {"esc": "Stop"}, lambda _: self._stop())
        task = start_awaited(self._import(files))
        self._controller.backend.importing = task
        task.add_done_callback(partial(self._done, len(files)))

    def _stop(self) -> None:
        self._stopping = True
        if self._panel is not None:
            self._panel.show_text("Stopping after this file.")

    async def _import(self, files: Sequence[Path]) -> "ImportTally":
        intake = await in_thread(import_locked, _import_files)
        tally: ImportTally = intake.ImportTally()
        imports: Iterator[FileImport] = intake.import_files(self._controller.launch.store, files)
        while not self._stopping and (done := await in_thread(next, imports, None)) is not None:
            tally.add(done)
            if self._panel is not None and not self._stopping:
                self._panel.show_text(_progress(tally.files, len(files), tally.new))
        return tally

    def _done(self, files: int, task: "asyncio.Task[ImportTally]") -> None:
        self._controller.backend.importing = None
        if not task.cancelled():
            run_in_background(self._app, "Importing", partial(self._report, files, task), group="importing")

    async def _report(self, files: int, task: "asyncio.Task[ImportTally]") -> None:
        self._close()
        try:
            tally = task.result()
        except StoreError as error:
            self._chat.feed.note(f"{error} /import tries again.", "error")
            return
        if tally.files < files:
            self._chat.feed.note(f"Stopped after {tally.files:,} of {files:,} files: {tally.text}. /import continues.")
        else:
            more = f" {tally.offer}" if tally.offer else ""
            self._chat.feed.note(f"{tally.text}. {self._chat.shortcut_for('sessions')} shows all sessions.{more}")


def _numbers(found: Found) -> str:
    """How many sessions there are of each program; a database counts as one file."""
    (first, files), *others = sorted(found.items(), key=lambda each: -len(each[1]))
    more = sum(len(each) for _, each in others)
    return f"{counted(len(files), f'{first} session')}{f' and {more:,} of other programs' if more else ''}"


def _progress(done: int, of: int, sessions: int) -> str:
    bar = progress_bar(done / of if of else 1)
    return f"{bar} {done:,} of {counted(of, 'file')}   {counted(sessions, 'session')} imported"


def _import_files() -> Any:
    """The module that imports files; it loads the engine."""
    from co_tui.exchange.intake import import_files

    return import_files
