"""Images in the prompt: pasted ones shown as a marker, and paths of image files that a terminal pastes when they are
dropped on it. Independent of the screen."""

import re
import shlex
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from co_tui.events.image_bytes import image_type
from co_tui.session.file_references import MOST_FILES, SNIFFED_BYTES, NamedFile

MAX_KEPT: Final = 10
"""Images kept, so that undo and earlier prompts can restore theirs."""
MAX_DROPPED_CHARS: Final = 10_000
_SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_MARKER: Final = re.compile(r"\[image (\d+)\]")


class PastedImages:
    """Images by marker. They are in memory only, until they are sent."""

    def __init__(self) -> None:
        self._images: dict[str, bytes] = {}
        self._count = 0

    def add(self, data: bytes) -> str:
        """The marker of an image."""
        self._count += 1
        marker = f"[image {self._count}]"
        self._images[marker] = data
        while len(self._images) > MAX_KEPT:
            del self._images[next(iter(self._images))]
        return marker

    def in_text(self, text: str) -> tuple[NamedFile, ...]:
        """The images whose markers a text has, each once."""
        found = dict.fromkeys(each[0] for each in _MARKER.finditer(text))
        kept = [marker for marker in found if marker in self._images]
        return tuple(NamedFile(Path(), marker.strip("[]"), self._images[marker]) for marker in kept)

    def marker_before(self, text: str) -> str | None:
        """The marker at the end of a text."""
        return next((marker for marker in self._images if text.endswith(marker)), None)


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
