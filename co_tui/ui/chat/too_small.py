"""What is shown instead of everything while the terminal is too small."""

from textual.widgets import Static


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

    def __init__(self, columns: int, rows: int) -> None:
        """As many are needed."""
        super().__init__(markup=False)
        self._needed = f"{columns}×{rows}"

    def on_mount(self) -> None:
        self.on_resize()

    def on_resize(self) -> None:
        size = self.app.size
        self.update(
            f"co-tui needs a terminal of {self._needed}; this one is {size.width}×{size.height}.\n"
            "Make it larger, and everything is back."
        )
