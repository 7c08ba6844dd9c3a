"""Unpacks the images of blocks beside the screen, one after the other, the latest wanted first."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable

from co_tui.ui.widgets.block import Block
from co_tui.ui.widgets.block_image import BlockImage

MOST_KEPT = 32
"""Pictures that are kept; older ones are unpacked again when they come into view."""


class ImageLoader:
    """Knows no screen: it is told what is in view, and tells which blocks have to be drawn again."""

    def __init__(self, loaded: Callable[[Block], None]) -> None:
        self._loaded = loaded
        self._wanted: OrderedDict[Block, None] = OrderedDict()
        self._kept: OrderedDict[BlockImage, None] = OrderedDict()

    def want(self, blocks: Iterable[Block]) -> bool:
        """Whether there is something to load that was not asked for before."""
        new = [block for block in blocks if block not in self._wanted and any(i.is_unseen for i in block.images)]
        idle = not self._wanted
        self._wanted.update(dict.fromkeys(new))
        return bool(new) and idle

    async def load(self) -> None:
        """Everything that is wanted, and what comes to be wanted meanwhile."""
        while self._wanted:
            block = next(reversed(self._wanted))
            try:
                for image in filter(lambda each: each.is_unseen, block.images):
                    await self._unpack(image)
            finally:
                del self._wanted[block]
            self._loaded(block)

    async def _unpack(self, image: BlockImage) -> None:
        from co_tui.ui.widgets.picture import NotDrawable, unpacked

        try:
            image.picture = await asyncio.to_thread(unpacked, image.stored.encoded)
        except NotDrawable as trouble:
            image.trouble = str(trouble)
        self._kept[image] = None
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)[0].picture = None
