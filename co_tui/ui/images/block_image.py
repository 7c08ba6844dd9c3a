"""An image of a block."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from co_tui.events.images import StoredImage

if TYPE_CHECKING:
    from co_tui.ui.images.image_cells import Picture

MOST_DRAWN = 8
"""So many images of a block are drawn in the chat; all of them can be opened."""


@dataclass(slots=True, eq=False)
class BlockImage:
    """An image of a message, and what came of unpacking it; neither until somebody looks at it."""

    stored: StoredImage
    picture: "Picture | None" = None
    trouble: str = ""

    @property
    def is_unseen(self) -> bool:
        """Whether nobody has tried to unpack it."""
        return self.picture is None and not self.trouble

    @property
    def told(self) -> str:
        """What it is, in a line."""
        if self.picture is None:
            return " · ".join(filter(None, (self.stored.media_type, self.trouble)))
        size = f"{self.picture.width:,} × {self.picture.height:,}"
        return f"{self.stored.media_type} · {size} · {self.picture.size_bytes:,} bytes"

    async def unpack(self) -> None:
        """Beside the screen; afterwards there is a picture, or what the trouble with it is."""
        from co_tui.ui.images.image_cells import NotDrawable, unpacked

        try:
            self.picture = await asyncio.to_thread(unpacked, self.stored.encoded)
        except NotDrawable as trouble:
            self.trouble = str(trouble)
