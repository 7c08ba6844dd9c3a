"""The context board: what a session began with, and what became of the board through it."""

from co_tui.events.facts.base import NOTHING, Announced, Json, Occurrence


class BoardShown(Occurrence):
    """The session begins with these learnings; its model is told them in every request, whatever becomes of the
    board."""

    TYPE = "board.shown"
    note: str
    """As the model gets it."""
    entries: int = 0
    left_out: int = 0
    """Older ones that found no room."""
    tokens: int = 0


class BoardChanged(Occurrence):
    """Learnings were added or taken out; each with its `id`, `text`, `added` and `session_id`."""

    TYPE = "board.changed"
    added: tuple[Json, ...] = ()
    pruned: tuple[Json, ...] = ()
    model: str = ""
    """Who chose them; empty for the user, and for a run that did not come to its end."""
    usage: Json = NOTHING
    cost: float | None = None


class BoardProgress(Announced):
    """An agent reads the conversation to bring the board up to date."""

    TYPE = "board.progress"
    text: str = ""
    over: bool = False
