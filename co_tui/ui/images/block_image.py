"""An image of a block."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from co_tui.events.images import StoredImage

if TYPE_CHECKING:
    from co_tui.ui.images.image_cells import Picture


@dataclass(slots=True, eq=False)
class BlockImage:
    """An image of a message; decoded when first needed, to a picture or an error."""

    stored: StoredImage
    picture: "Picture | None" = None
    error: str = ""

    @property
    def is_unseen(self) -> bool:
        """Whether it has not been decoded yet."""
        return self.picture is None and not self.error

    @property
    def label(self) -> str:
        """Type, size and any error, in one line."""
        if self.picture is None:
            return " · ".join(filter(None, (self.stored.media_type, self.error)))
        size = f"{self.picture.width:,} × {self.picture.height:,}"
        return f"{self.stored.media_type} · {size} · {self.picture.size_bytes:,} bytes"

    async def unpack(self) -> None:
        """Decode it in a thread; sets `picture` or `trouble`."""
        from co_tui.ui.images.image_cells import NotDrawable, unpacked

        try:
            self.picture = await asyncio.to_thread(unpacked, self.stored.encoded)
        except NotDrawable as error:
            self.error = str(error)
