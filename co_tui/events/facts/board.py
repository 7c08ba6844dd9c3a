"""The context board: the notes a session starts with, and its changes to them."""

from co_tui.events.facts.base import NOTHING, Announced, Json, Occurrence


class BoardShown(Occurrence):
    """The session starts with these notes; they are part of every request, even if the board changes later."""

    TYPE = "board.shown"
    note: str
    """As sent to the model."""
    entries: int = 0
    left_out: int = 0
    """Older notes that did not fit."""
    tokens: int = 0


class BoardChanged(Occurrence):
    """Notes were added or removed, each with its `id`, `text`, `added` and `session_id`."""

    TYPE = "board.changed"
    added: tuple[Json, ...] = ()
    pruned: tuple[Json, ...] = ()
    model: str = ""
    """The model that chose them; empty for the user and for unfinished runs."""
    usage: Json = NOTHING
    cost: float | None = None


class BoardProgress(Announced):
    """An agent is reading the conversation to update the board."""

    TYPE = "board.progress"
    text: str = ""
    over: bool = False
