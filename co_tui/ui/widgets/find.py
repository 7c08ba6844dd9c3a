"""The line in which one searches the conversation."""

from textual.widgets import Input


class FindBar(Input):
    """Enter finds upwards, Esc closes."""

    DEFAULT_CSS = """
    FindBar, FindBar:focus { height: 3; border: round $warning; }
    """

    def __init__(self, text: str) -> None:
        super().__init__(text, placeholder="Search in this conversation: Enter finds upwards, Esc closes")
