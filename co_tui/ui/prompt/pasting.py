"""A text area whose long pastes and images are shown as markers, and sent in full."""

import asyncio
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from textual import events
from textual.message import Message
from textual.widgets.text_area import Location

from co_tui.events.images import image_type
from co_tui.events.stored_messages import Span, pasted_size
from co_tui.late_pattern import late_pattern
from co_tui.session.file_references import MOST_FILES, SNIFFED_BYTES, NamedFile, name_of, reference
from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from co_tui.session.workplace.workplace import Workplace
from co_tui.ui.background import run_in_background
from co_tui.ui.textual_internals import TextAreaInternals
from co_tui.ui.widgets.safe_text_area import with_newlines

if TYPE_CHECKING:
    from co_tui.ui.terminal.clipboard_image import ClipboardHelper


FOLDED_FROM_LINES = 10
FOLDED_FROM_CHARS = 2_000
SLOW_FROM_CHARS = 10_000
SLOW_FROM_LINE_CHARS = 3_000
"""Beyond this, typing in the prompt lags."""
_NO_BREAK_SPACE = "\u00a0"
"""In markers, so that the same words typed by hand stay what they are."""
_TEXT_MARKER = late_pattern(rf"\[pasted{_NO_BREAK_SPACE}[^\]\n]*\]")

MAX_SEEN: Final = 20
MAX_TYPED_LINE: Final = 300
MAX_KEPT: Final = 10
"""Images kept, so that undo and earlier prompts can restore theirs."""
MAX_DROPPED_CHARS: Final = 10_000
_SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_IMAGE_MARKER: Final = late_pattern(r"\[image (\d{1,6})\]")
ONE_GOES: Final = f"A prompt takes {MAX_KEPT} pasted images: {{gone}} goes and is not sent. @ attaches more, as files."

READING = "Reading the clipboard"
_MAYBE_DROPPED = ("/", "~", "'", '"', "file://")


class PastingArea(TextAreaInternals):
    """Accepts pastes, dropped image files, and images from the clipboard."""

    class PastedOpened(Message):
        """The text behind a paste marker was requested."""

        def __init__(self, marker: str, text: str) -> None:
            super().__init__()
            self.marker, self.text = marker, text

    workplace: Workplace = LocalWorkplace(Path())
    """The folder of files named in prompts."""
    environ: Mapping[str, str] = {}
    """Where a program that reads the clipboard is found."""
    _images: "PastedImages | None" = None
    """None until the first image."""

    def __init__(self, *, id: str | None, placeholder: str) -> None:
        super().__init__(id=id, placeholder=placeholder, compact=True, show_line_numbers=False, soft_wrap=True)
        self._pasted = PastedTexts()

    @property
    def whole(self) -> str:
        """The text to send, with pasted texts in place of their markers."""
        return self._pasted.unfold(self.text)

    @property
    def selected_text(self) -> str:
        """The selected text, with pasted texts in place of their markers."""
        return self._pasted.unfold(super().selected_text)

    def action_cut(self) -> None:
        super().action_cut()
        if (whole := self._pasted.unfold(self.app.clipboard)) != self.app.clipboard:
            self.app.copy_to_clipboard(whole)

    def replace_pasted(self, marker: str, text: str) -> None:
        """Replace the text of a paste marker."""
        self._put(self.text.replace(marker, self._pasted.fold(text)))

    async def on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = with_newlines(event.text)
        if dropped := self._dropped(text):
            self._insert_word(dropped)
        else:
            self._insert(self._pasted.fold(text), *self.selection)

    def _dropped(self, pasted: str) -> str:
        """References to the image files that were dropped on the terminal; empty if it is another paste."""
        if self.text.startswith(("/", "!")) or not pasted[:20].lstrip().startswith(_MAYBE_DROPPED):
            return ""

        return "".join(f"{reference(name_of(path, self.workplace.folder))} " for path in dropped_images(pasted))

    def _insert(self, text: str, start: Location, end: Location) -> None:
        """Replace a range as typing does, with the cursor behind it."""
        self.move_cursor(self.replace(text, start, end, maintain_selection_offset=False).end_location)

    def _put(self, text: str) -> None:
        """Replace everything; undo restores it."""
        self._insert(text, (0, 0), self.document.end)

    def _insert_word(self, word: str) -> None:
        """Insert it apart from the word before it, as a reference must be."""
        row, column = min(self.selection)
        before = self.document[row][:column]
        self._insert(f" {word}" if before and not before[-1].isspace() else word, *self.selection)

    def action_paste(self) -> None:
        """Paste an image from the system's clipboard, else the text that was copied here."""
        from co_tui.ui.terminal.clipboard_image import NO_CLIPBOARD, ClipboardTrouble, clipboard_helper

        try:
            if self.app.is_web:  # the clipboard of the machine that serves the app is not the user's
                raise ClipboardTrouble(NO_CLIPBOARD)
            helper = clipboard_helper(self.environ, self.workplace.folder, sys.platform)
        except ClipboardTrouble as trouble:
            self._paste_text(str(trouble))
        else:
            run_in_background(self, READING, partial(self._paste_image, helper), group="clipboard", latest=True)

    async def _paste_image(self, helper: "ClipboardHelper") -> None:
        from co_tui.ui.terminal.clipboard_image import NO_IMAGE, ClipboardTrouble, read_image

        try:
            data = await asyncio.to_thread(read_image, helper)
        except ClipboardTrouble as trouble:
            self._paste_text(str(trouble))
            return
        if data is None:
            self._paste_text(NO_IMAGE)
        else:
            self.attach_image(data)

    def _paste_text(self, warning: str) -> None:
        """Paste the text that was copied in co-tui; without one, say why nothing is pasted."""
        if self.app.clipboard:
            self._insert(self._pasted.fold(self.app.clipboard), *self.selection)
        else:
            self.notify(warning, severity="warning", timeout=6, markup=False)

    def attach_image(self, data: bytes) -> None:
        """Insert the marker of an image, which is sent with the prompt."""

        if self._images is None:
            self._images = PastedImages()
        marker, gone = self._images.add(data, self._known_texts)
        self._insert_word(f"{marker} ")
        if gone and gone in self.text:
            self.notify(ONE_GOES.format(gone=gone), severity="warning", timeout=8, markup=False)

    @property
    def _known_texts(self) -> Sequence[str]:
        """What may be sent from here: the text first, then all that it can be exchanged for."""
        return (self.text,)

    def action_delete_left(self) -> None:
        """Delete a marker as a whole."""
        row, column = self.cursor_location
        before = self.document[row][:column]
        marker = self._pasted.marker_before(before) if self.selection.is_empty else None
        if marker is None and self.selection.is_empty and self._images is not None:
            marker = self._images.marker_before(before)
        if marker is None:
            super().action_delete_left()
        else:
            self.delete((row, column - len(marker)), (row, column))

    def action_open_pasted(self) -> None:
        row, column = self.cursor_location
        marker = self._pasted.marker_near(self.document[row], column)
        if marker is not None:
            self.post_message(self.PastedOpened(marker, self._pasted.text_of(marker)))


class PastedImages:
    """Images by marker. They are in memory only, until they are sent."""

    def __init__(self) -> None:
        self._images: dict[str, bytes] = {}
        self._count = 0

    def add(self, data: bytes, texts: Sequence[str] = ()) -> tuple[str, str]:
        """The marker of an image, and that of the one dropped for it: the oldest, of those that the first of the texts
        does not name if there are any. No text names an image with this marker already."""
        known = (int(found[1]) for text in texts for found in _IMAGE_MARKER.finditer(text))
        self._count = max(self._count, *known, 0) + 1
        marker, gone = f"[image {self._count}]", ""
        if len(self._images) == MAX_KEPT:
            gone = next((each for each in self._images if each not in "".join(texts[:1])), next(iter(self._images)))
            del self._images[gone]
        self._images[marker] = data
        return marker, gone

    def in_text(self, text: str) -> tuple[NamedFile, ...]:
        """The images whose markers a text has, each once."""
        kept = [marker for marker in image_markers(text) if marker in self._images]
        return tuple(NamedFile(Path(), marker.strip("[]"), self._images[marker]) for marker in kept)

    def missing_from(self, text: str) -> tuple[str, ...]:
        """The markers of a text whose images are not here."""
        return tuple(marker for marker in image_markers(text) if marker not in self._images)

    def marker_before(self, text: str) -> str | None:
        """The marker at the end of a text."""
        return next((marker for marker in self._images if text.endswith(marker)), None)


def image_markers(text: str) -> Sequence[str]:
    """The markers of images in a text, each once."""
    return list(dict.fromkeys(each[0] for each in _IMAGE_MARKER.finditer(text)))


def dropped_images(pasted: str) -> list[Path]:
    """The image files a paste consists of; empty for any other text.

    Terminals paste the absolute path of a dropped file: quoted, with escaped spaces, or as a file:// address.
    """
    if len(pasted) > MAX_DROPPED_CHARS or not pasted.strip().rstrip("'\"").lower().endswith(_SUFFIXES):
        return []
    paths = [_path(each) for each in _words(pasted)]
    images = [path for path in paths if path is not None and _is_image(path)]
    return images if len(images) == len(paths) <= MOST_FILES else []


def _words(pasted: str) -> list[str]:
    """One path with unescaped spaces, or several paths as a shell would read them."""
    whole = pasted.strip()
    if "\n" not in whole and (path := _path(whole)) is not None and _is_image(path):
        return [whole]
    try:
        return shlex.split(pasted)
    except ValueError:  # an open quote
        return []


def _path(word: str) -> Path | None:
    if word.startswith("file://"):
        try:
            address = urlsplit(word)
        except ValueError:
            return None
        return Path(unquote(address.path)) if address.netloc in ("", "localhost") else None
    return Path(word).expanduser() if word.startswith(("/", "~/")) else None


def _is_image(path: Path) -> bool:
    try:
        if path.suffix.lower() not in _SUFFIXES or not path.is_file():
            return False
        with path.open("rb") as file:
            return bool(image_type(file.read(SNIFFED_BYTES)))
    except (OSError, ValueError, RuntimeError):  # not a valid file name
        return False


class PastedTexts:
    """Texts by marker."""

    def __init__(self, seen: Iterable[str] = ()) -> None:
        """`seen` are the texts that were pasted before: a prompt that comes back with them has them folded again."""
        self._texts: dict[str, str] = {}
        self.seen = list(seen)[-MAX_SEEN:]

    def fold(self, text: str) -> str:
        """The text itself, or a marker if it is long."""
        is_long = text.count("\n") >= FOLDED_FROM_LINES or len(text) > FOLDED_FROM_CHARS
        return self._marker(text) if is_long or self._quotes_marker(text) else text

    def fold_if_slow(self, text: str) -> str:
        """A text that comes back, with what was pasted folded again; more of it is folded if editing it would be slow,
        but not a short line at its beginning or end, which was typed most likely."""
        for pasted in sorted(self.seen, key=len, reverse=True):
            if pasted in text and not self._quotes_marker(text):
                before, _, behind = text.partition(pasted)
                return f"{self.fold_if_slow(before)}{self._marker(pasted)}{self.fold_if_slow(behind)}"
        is_slow = len(text) > SLOW_FROM_CHARS or max(map(len, text.split("\n"))) > SLOW_FROM_LINE_CHARS
        if not is_slow or self._quotes_marker(text):
            return self._marker(text) if is_slow or self._quotes_marker(text) else text
        start = len(text) - len(text.partition("\n")[2]) if 0 < text.find("\n") <= MAX_TYPED_LINE else 0
        last = text.rstrip("\n").rfind("\n")
        end = last if start < last and len(text) - last <= MAX_TYPED_LINE else len(text)
        return f"{text[:start]}{self._marker(text[start:end])}{text[end:]}"

    def spans_in(self, text: str) -> list[Span]:
        """Where the texts of the markers in a text begin and end once they are in place of them."""
        spans, longer = list[Span](), 0
        for found in _TEXT_MARKER.finditer(text):
            if (pasted := self._texts.get(found[0])) is not None:
                start = found.start() + longer
                spans.append((start, start + len(pasted)))
                longer += len(pasted) - len(found[0])
        return spans

    def _quotes_marker(self, text: str) -> bool:
        """Whether it holds the marker of another text, copied from the screen."""
        return self.unfold(text) != text

    def _marker(self, text: str) -> str:
        size = pasted_size(text)
        marker, number = _marker_for(size), 2
        while self._texts.get(marker, text) != text:
            marker, number = _marker_for(f"{size} · {number}"), number + 1
        self._texts[marker] = text
        self.seen = [*(each for each in self.seen if each != text), text][-MAX_SEEN:]
        return marker

    def unfold(self, text: str) -> str:
        """The text with every marker replaced by its text."""
        return _TEXT_MARKER.sub(lambda found: self._texts.get(found[0], found[0]), text)

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
