"""Where the compaction beside the conversation stands (G3d). Pure: knows no model, no clock and no log.

idle ── begin ──▶ running ── finish ──▶ ready ── take ──▶ idle (applied)
                     └──── fail, discard ────────┴──────▶ idle
"""

from enum import Enum
from typing import Generic, Literal, TypeAlias, TypeVar

R = TypeVar("R")

Wanted: TypeAlias = Literal["", "beside", "now"]
"""What the policy asks for before a request: nothing, a compaction beside the turn, or one the request waits for."""


class Stage(Enum):
    IDLE = "idle"
    RUNNING = "running"
    READY = "ready"


class Move(Enum):
    """What a request has to do before it is sent."""

    GO_ON = "go on"
    START = "start one beside the turn"
    COMPACT = "compact, and wait for it"
    WAIT = "wait for the one that runs"
    APPLY = "apply the one that is ready"


class Background(Generic[R]):
    """At most one compaction at a time; its result counts only for the history it was made from."""

    def __init__(self) -> None:
        self.stage = Stage.IDLE
        self._ticket = 0
        self._version: object = None
        self._result: R | None = None

    def next_move(self, version: object, wanted: Wanted) -> Move:
        """`version` is the history's: the same object as long as the history only grows."""
        if self.stage is Stage.READY and version is self._version:
            return Move.APPLY
        if self.stage is Stage.RUNNING and version is self._version:
            return Move.WAIT if wanted == "now" else Move.GO_ON
        if self.stage is not Stage.IDLE:
            return Move.GO_ON  # made from another history: whoever began it must discard it first
        return {"": Move.GO_ON, "beside": Move.START, "now": Move.COMPACT}[wanted]

    def is_stale(self, version: object) -> bool:
        """Whether what runs or is ready was made from a history that is no more."""
        return self.stage is not Stage.IDLE and version is not self._version

    def begin(self, version: object) -> int:
        """Returns the ticket with which the result has to come."""
        if self.stage is not Stage.IDLE:
            raise RuntimeError("a compaction is under way already")
        self.stage, self._version = Stage.RUNNING, version
        self._ticket += 1
        return self._ticket

    def finish(self, ticket: int, result: R) -> bool:
        """Hand in a result; False when nobody wants it any more."""
        if self.stage is not Stage.RUNNING or ticket != self._ticket:
            return False
        self.stage, self._result = Stage.READY, result
        return True

    def fail(self, ticket: int) -> bool:
        """There will be no result; False when nobody waits for one any more."""
        if self.stage is not Stage.RUNNING or ticket != self._ticket:
            return False
        self._reset()
        return True

    def take(self, version: object) -> R | None:
        """The result, to be applied to that history; None when there is none for it."""
        if self.stage is not Stage.READY or version is not self._version:
            return None
        result = self._result
        self._reset()
        return result

    def discard(self) -> R | None:
        """Whatever runs or is ready is not wanted any more; returns the result that now goes unused."""
        result = self._result
        self._reset()
        return result

    def _reset(self) -> None:
        self.stage, self._version, self._result = Stage.IDLE, None, None
