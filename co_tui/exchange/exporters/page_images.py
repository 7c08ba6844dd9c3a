"""The images of a message inside a page: only kinds that browsers draw without running anything."""

import base64
from collections.abc import Iterable
from html import escape
from typing import Final

from co_tui.events.image_bytes import image_size, image_type
from co_tui.events.images import StoredImage

MOST_BYTES: Final = 20_000_000
"""Of an image; the log may have come from anywhere."""
MOST_PIXELS: Final = 200_000_000


def shown_images(images: Iterable[StoredImage]) -> str:
    """Each that its bytes show to be one; of the others the text tells."""
    return "".join(map(_shown, images))


def _shown(image: StoredImage) -> str:
    data = image.data(MOST_BYTES)
    kind, size = image_type(data), image_size(data)
    if not kind or size is None or not 0 < size[0] * size[1] <= MOST_PIXELS:
        return ""
    told = escape(f"{image.media_type}, {size[0]:,} × {size[1]:,}")
    return f'<img src="data:{kind};base64,{base64.b64encode(data).decode()}" alt="{told}" title="{told}">'
