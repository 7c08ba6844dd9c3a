"""An image of a message, as large as the screen."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from co_tui.ui.screens.dialog import Dialog
from co_tui.ui.widgets.block_image import BlockImage
from co_tui.ui.widgets.key_hints import KeyHints


class ImageView(Widget, can_focus=True):
    """The image in the middle of the room there is."""

    DEFAULT_CSS = """
    ImageView { height: 1fr; }
    """

    def __init__(self, image: BlockImage) -> None:
        super().__init__()
        self._image = image
        self._lines: list[Strip] = []
        self._drawn_for = Size()

    def show(self, image: BlockImage) -> None:
        self._image, self._drawn_for = image, Size()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        base, size = self.visual_style.rich_style, self.size
        if size != self._drawn_for and self._image.picture is not None:
            behind = self.background_colors[1].hex6
            self._lines, self._drawn_for = self._image.picture.lines(size.width, size.height, behind), size
        line = y - (size.height - len(self._lines)) // 2
        if not 0 <= line < len(self._lines):
            return Strip.blank(size.width, base)
        left = (size.width - self._lines[line].cell_length) // 2
        drawn = Strip.join([Strip.blank(left, base), self._lines[line]])
        return drawn.extend_cell_length(size.width).apply_style(base)


class ImageScreen(Dialog[None]):
    """One of the images of a message at a time."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,v,enter", "close", "Back"),
        Binding("left,up", "step(-1)", show=False),
        Binding("right,down,space", "step(1)", show=False),
    ]

    def __init__(self, title: str, images: Sequence[BlockImage]) -> None:
        super().__init__(tall=True)
        self.add_class("-full")
        self._title, self._images, self._place = title, images, 0

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = Text(self._title)  # a file's name is not ours
            yield ImageView(self._images[0])
            others = [("← →", "the others")] if len(self._images) > 1 else []
            yield KeyHints(*others, ("esc", "back"))

    def on_mount(self) -> None:
        self._tell()
        self.query_one(ImageView).focus()

    def _tell(self) -> None:
        count = f"{self._place + 1} of {len(self._images)} · " if len(self._images) > 1 else ""
        self.query_one(Vertical).border_subtitle = Text(f"{count}{self._images[self._place].told}")

    def action_step(self, step: int) -> None:
        self._place = (self._place + step) % len(self._images)
        self.query_one(ImageView).show(self._images[self._place])
        self._tell()

    def action_close(self) -> None:
        self.answer(None)
