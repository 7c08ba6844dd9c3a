"""The images of a message inside a page: only kinds that browsers draw without running anything."""

import base64
from collections.abc import Sequence
from html import escape
from typing import Final

from co_tui.events.image_bytes import image_size, image_type
from co_tui.events.images import StoredImage, images_label

MOST_BYTES: Final = 20_000_000
"""Of an image; the log may have come from anywhere."""
MOST_PIXELS: Final = 200_000_000


def text_and_images(text: str, images: Sequence[StoredImage]) -> tuple[str, str]:
    """A message's text, and each image that its bytes show to be one; unless all are shown, the text tells of them."""
    shown = [found for image in images if (found := _shown(image))]
    if not shown or len(shown) < len(images):
        return text, "".join(shown)
    label = images_label(images)
    return "\n".join(line for line in text.split("\n") if line != label), "".join(shown)


def _shown(image: StoredImage) -> str:
    data = image.data(MOST_BYTES)
    kind, size = image_type(data), image_size(data)
    if not kind or size is None or not 0 < size[0] * size[1] <= MOST_PIXELS:
        return ""
    told = escape(f"{image.media_type}, {size[0]:,} × {size[1]:,}")
    return f'<img src="data:{kind};base64,{base64.b64encode(data).decode()}" alt="{told}" title="{told}">'
