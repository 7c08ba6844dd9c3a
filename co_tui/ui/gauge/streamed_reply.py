"""How much the streaming reply adds to the context, estimated until its provider counts it."""

from co_tui.events import Fact, Message, StreamDelta, StreamReset, UsageInfo, agent_of
from co_tui.events.stored_messages import prompt_of
from co_tui.ui.formatting import CHARS_PER_TOKEN

REDRAW_S = 0.5
"""Shortest time between two figures."""


class StreamedReply:
    """Counts the main agent's reply; callers pass in the time."""

    def __init__(self) -> None:
        self._chars = 0
        self._shown_at = float("-inf")

    @property
    def tokens(self) -> int:
        return self._chars // CHARS_PER_TOKEN

    def apply(self, fact: Fact, now: float) -> bool:
        """Follow an event; whether the gauge should be drawn again because of it alone."""
        if agent_of(fact):
            return False
        match fact:
            case StreamDelta(text=text):
                self._chars += len(text)
                if now - self._shown_at < REDRAW_S:
                    return False
                self._shown_at = now
                return True
            case StreamReset():
                self._chars = 0
                return True
            case UsageInfo():  # has its own figure
                self._chars = 0
            case Message(message=message) if prompt_of(message) is not None:
                self._chars = 0
            case _:
                pass
        return False
