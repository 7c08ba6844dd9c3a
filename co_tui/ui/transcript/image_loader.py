"""Decodes the images of visible blocks in the background, one by one, the latest request first."""

from collections import OrderedDict
from collections.abc import Callable, Iterable

from co_tui.ui.images.block_image import BlockImage
from co_tui.ui.transcript.block import Block

MAX_KEPT = 32
"""Decoded pictures kept; older ones out of view are dropped and decoded again when needed."""


class ImageLoader:
    """Given the blocks in view, loads their images and reports each block that has to be redrawn."""

    def __init__(self, loaded: Callable[[Block], None]) -> None:
        self._loaded = loaded
        self._queued: OrderedDict[Block, None] = OrderedDict()
        self._in_view: frozenset[BlockImage] = frozenset()
        self._kept: OrderedDict[BlockImage, None] = OrderedDict()
        self._is_loading = False

    def request(self, in_view: Iterable[Block]) -> bool:
        """Queue the images of these blocks; True when `load` has to be started."""
        blocks = [block for block in dict.fromkeys(in_view) if block.images]
        self._in_view = frozenset(image for block in blocks for image in block.drawn_images)
        unseen = (block for block in blocks if any(image.is_unseen for image in block.drawn_images))
        self._queued.update(dict.fromkeys(unseen))
        return bool(self._queued) and not self._is_loading

    async def load(self) -> None:
        """Load everything queued, including what is added while it loads."""
        if self._is_loading:
            return
        self._is_loading = True
        try:
            while self._queued:
                await self._load(next(reversed(self._queued)))
        finally:
            self._is_loading = False

    async def _load(self, block: Block) -> None:
        try:
            for image in block.drawn_images:
                if image.is_unseen:
                    await image.unpack()
                    self._keep(image)
        finally:
            del self._queued[block]
        self._loaded(block)

    def _keep(self, image: BlockImage) -> None:
        """Keep a picture and drop old ones, but none in view: it would be requested again at once."""
        if image.picture is not None:
            self._kept[image] = None
        over = len(self._kept) - MAX_KEPT
        for old in [each for each in self._kept if each not in self._in_view][: max(0, over)]:
            del self._kept[old]
            old.picture = None
