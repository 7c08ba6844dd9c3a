"""Draws an image as lines of text: each cell shows two pixels, one above the other."""

import base64
import io
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")
"""The formats that models accept; others are not tried."""
MAX_BYTES: Final = 20_000_000
MAX_PIXELS: Final = 36_000_000
"""Larger images take a second and hundreds of megabytes to decode."""
MAX_JPEG_PIXELS: Final = 200_000_000
"""JPEGs can be decoded at an eighth of their size, unless stored in several passes."""
KEPT_PIXELS: Final = (320, 240)
"""Size to which images are reduced; enough for the largest screen."""
SEEN_FROM: Final = 48
"""Alpha (of 255) below which a pixel counts as transparent."""
ORIENTATION: Final = 0x0112
"""The EXIF tag for the camera's orientation."""
UPRIGHT: Final = 1
LYING: Final = (5, 6, 7, 8)
_STANDARD_ALPHABET: Final = str.maketrans("-_", "+/")


class NotDrawable(Exception):
    """Why an image cannot be drawn, in a sentence."""


class Picture:
    """A decoded image, reduced to the size kept."""

    def __init__(self, image: "Image", width: int, height: int, size_bytes: int) -> None:
        self._image = image
        self.width, self.height = width, height
        """Original size in pixels."""
        self.size_bytes = size_bytes

    def lines(self, columns: int, rows: int, background: str) -> list[Strip]:
        """Draw it as large as fits, in its proportions, never larger than the original."""
        from PIL.Image import Resampling

        width, height = _fitting(self.width, self.height, columns, 2 * rows)
        pixels: Any = self._image.resize((width, height), Resampling.HAMMING).load()
        behind = Color.parse(background).get_truecolor()
        return [
            _line([_Cell(pixels[x, y], pixels[x, y + 1] if y + 1 < height else _NOTHING) for x in range(width)], behind)
            for y in range(0, height, 2)
        ]


def unpacked(encoded: str) -> Picture:
    """Decode an image, or the first frame of an animation. Slow; raises `NotDrawable`."""
    if len(encoded) * 3 // 4 > MAX_BYTES:
        raise NotDrawable(f"Image not shown: over {MAX_BYTES // 1_000_000} MB.")
    try:
        data = base64.b64decode(encoded.translate(_STANDARD_ALPHABET), validate=True)
        return _unpacked(data)
    except NotDrawable:
        raise
    except MemoryError as error:
        raise NotDrawable("Image not shown: not enough memory.") from error
    except Exception as error:
        # Broken files: Pillow raises whatever its decoder happens to hit.
        raise NotDrawable("Image not shown: not a readable PNG, JPEG, GIF or WebP.") from error


def _unpacked(data: bytes) -> Picture:
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # Pillow would print a warning; we check the size ourselves
    image: Image.Image = Image.open(io.BytesIO(data), formats=FORMATS)
    width, height = image.size
    if width * height > _most_pixels(image, data):
        raise NotDrawable(f"Image not shown: {width:,} × {height:,} pixels are too many.")
    shrunk, turned = _shrunk(image), _orientation(image)
    return Picture(_upright(shrunk, turned), *((height, width) if turned in LYING else (width, height)), len(data))


def _most_pixels(image: "Image", data: bytes) -> int:
    return MAX_JPEG_PIXELS if image.format == "JPEG" and not _has_passes(image, data) else MAX_PIXELS


def _has_passes(image: Any, data: bytes) -> bool:
    """Whether a JPEG stores colours or details in separate scans, so that it must be decoded at full size."""
    if image.info.get("progressive"):
        return True
    first_scan = data.rfind(b"\xff\xda", 0, image.fp.tell())
    return bool(data[first_scan + 4] < image.layers)


def _orientation(image: "Image") -> int:
    """The camera's orientation; upright where it is missing or unreadable."""
    try:
        noted = image.getexif().get(ORIENTATION)
    except Exception:
        return UPRIGHT
    return noted if isinstance(noted, int) else UPRIGHT


def _upright(image: "Image", turned: int) -> "Image":
    from PIL import ImageOps

    image.info.clear()  # other EXIF tags may be damaged
    image.getexif()[ORIENTATION] = turned
    return ImageOps.exif_transpose(image)


def _shrunk(image: "Image") -> "Image":
    image.draft("RGB", KEPT_PIXELS)
    if image.mode.startswith(("I", "F")):
        image = image.point(lambda value: value / 256).convert("L")  # 16 bits per pixel
    elif image.mode in ("1", "P", "PA"):
        image = image.convert("RGBA")
    image.thumbnail(KEPT_PIXELS)
    return image.convert("RGBA")


def _fitting(width: int, height: int, most_wide: int, most_high: int) -> tuple[int, int]:
    scale = min(1.0, most_wide / width, most_high / height)
    return max(1, round(width * scale)), max(1, round(height * scale))


Pixel = tuple[int, int, int, int]
_NOTHING: Final[Pixel] = (0, 0, 0, 0)


class _Cell(NamedTuple):
    """Two pixels, one above the other."""

    upper: Pixel
    lower: Pixel


def _line(cells: list[_Cell], behind: tuple[int, int, int]) -> Strip:
    drawn = (_drawn(cell, behind) for cell in cells)
    runs = ((look, len(list(same))) for look, same in groupby(drawn))
    return Strip([Segment(sign * count, style) for (sign, style), count in runs], len(cells))


@lru_cache(maxsize=8_192)
def _drawn(cell: _Cell, behind: tuple[int, int, int]) -> tuple[str, Style]:
    upper, lower = (_blended(pixel, behind) if pixel[3] >= SEEN_FROM else None for pixel in cell)
    if upper is None:
        return (" ", Style()) if lower is None else ("▄", Style(color=lower))
    return "▀", Style(color=upper, bgcolor=lower)


def _blended(pixel: Pixel, behind: tuple[int, int, int]) -> Color:
    red, green, blue, alpha = pixel
    mixed = (round((own * alpha + other * (255 - alpha)) / 255) for own, other in zip(pixel, behind, strict=False))
    return Color.from_rgb(*((red, green, blue) if alpha == 255 else tuple(mixed)[:3]))
