"""Full-screen view of a message's images."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from co_tui.ui.background import run_in_background
from co_tui.ui.dialogs.dialog import Dialog
from co_tui.ui.images.block_image import BlockImage
from co_tui.ui.widgets.key_hints import KeyHints

if TYPE_CHECKING:
    from co_tui.ui.images.image_cells import Picture


class ImageView(Widget, can_focus=True):
    """One image, centred."""

    DEFAULT_CSS = """
    ImageView { height: 1fr; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._picture: Picture | None = None
        self._lines: list[Strip] = []
        self._drawn_for = Size()

    def show(self, picture: "Picture | None") -> None:
        """Show a picture; None while it is being decoded."""
        self._picture, self._lines, self._drawn_for = picture, [], Size()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        base, size = self.visual_style.rich_style, self.size
        if size != self._drawn_for and self._picture is not None:
            behind = self.background_colors[1].hex6
            self._lines, self._drawn_for = self._picture.lines(size.width, size.height, behind), size
        line = y - (size.height - len(self._lines)) // 2
        if not 0 <= line < len(self._lines):
            return Strip.blank(size.width, base)
        left = (size.width - self._lines[line].cell_length) // 2
        drawn = Strip.join([Strip.blank(left, base), self._lines[line]])
        return drawn.extend_cell_length(size.width).apply_style(base)


class ImageScreen(Dialog[None]):
    """Shows one image of a message at a time."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,v,enter", "close", "Back"),
        Binding("left,up", "step(-1)", show=False),
        Binding("right,down,space", "step(1)", show=False),
    ]

    def __init__(self, title: str, images: Sequence[BlockImage]) -> None:
        super().__init__(tall=True)
        self.add_class("-full")
        self._title, self._images, self._index = title, images, 0
        self._shown = replace(images[0])
        """A copy: the chat drops pictures that are scrolled out of view."""
        self._is_unpacking = False

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Text(self._title)  # a file's name is not ours
            yield ImageView()
            others = [("← →", "next image")] if len(self._images) > 1 else []
            yield KeyHints(*others, ("esc", "back"))

    def on_mount(self) -> None:
        self._show()
        self.query_one(ImageView).focus()

    def _show(self) -> None:
        count = f"{self._index + 1} of {len(self._images)} · " if len(self._images) > 1 else ""
        self.query_one(Vertical).border_subtitle = Text(f"{count}{self._shown.label}")
        self.query_one(ImageView).show(self._shown.picture)
        if self._shown.is_unseen and not self._is_unpacking:
            run_in_background(self, "Decoding the image", self._unpack, group="image")

    async def _unpack(self) -> None:
        """Decode one image at a time, however fast the user steps through them."""
        self._is_unpacking = True
        try:
            while self._shown.is_unseen:
                await self._shown.unpack()
        finally:
            self._is_unpacking = False
        self._show()

    def action_step(self, step: int) -> None:
        self._index = (self._index + step) % len(self._images)
        self._shown = replace(self._images[self._index])
        self._show()
