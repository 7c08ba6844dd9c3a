"""What is shown instead of everything while the terminal is too small."""

from textual.widgets import Static

MIN_COLUMNS, MIN_ROWS = 60, 16


class TooSmall(Static):
    DEFAULT_CSS = """
    TooSmall {
        layer: drawer;
        dock: top;
        width: 100%;
        height: 100%;
        background: $background;
        content-align: center middle;
        text-align: center;
    }
    """

    def on_mount(self) -> None:
        self.on_resize()

    def on_resize(self) -> None:
        size = self.app.size
        self.update(
            f"co-tui needs a terminal of {MIN_COLUMNS}×{MIN_ROWS}; this one is {size.width}×{size.height}.\n"
            "Make it larger, and everything is back."
        )
