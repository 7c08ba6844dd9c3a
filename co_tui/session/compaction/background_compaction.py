"""The state of the background compaction (G3d). Pure: knows no model, no clock and no log.

idle ── begin ──▶ running ── finish ──▶ ready ── take ──▶ idle (applied)
                     └──── fail, discard ────────┴──────▶ idle
"""

from enum import Enum
from typing import Generic, Literal, TypeAlias, TypeVar

R = TypeVar("R")

Urgency: TypeAlias = Literal["", "background", "now"]
"""What the policy asks for before a request: nothing, a background compaction, or one the request waits for."""


class Stage(Enum):
    IDLE = "idle"
    RUNNING = "running"
    READY = "ready"


class Move(Enum):
    """What to do before a request is sent."""

    PROCEED = "proceed"
    START = "start one in the background"
    COMPACT = "compact, and wait for it"
    WAIT = "wait for the running one"
    APPLY = "apply the finished one"


class Background(Generic[R]):
    """At most one compaction at a time; its result counts only for the history it was made from."""

    def __init__(self) -> None:
        self.stage = Stage.IDLE
        self._ticket = 0
        self._version: object = None
        self._result: R | None = None

    def next_move(self, version: object, urgency: Urgency) -> Move:
        """`version` is the history's: the same object as long as the history only grows."""
        if self.stage is Stage.READY and version is self._version:
            return Move.APPLY
        if self.stage is Stage.RUNNING and version is self._version:
            return Move.WAIT if urgency == "now" else Move.PROCEED
        if self.stage is not Stage.IDLE:
            return Move.PROCEED  # made from another history: it has to be discarded first
        return {"": Move.PROCEED, "background": Move.START, "now": Move.COMPACT}[urgency]

    def is_stale(self, version: object) -> bool:
        """Whether the running or finished one was made from an earlier history."""
        return self.stage is not Stage.IDLE and version is not self._version

    def begin(self, version: object) -> int:
        """Returns the ticket that the result must carry."""
        if self.stage is not Stage.IDLE:
            raise RuntimeError("a compaction is already running")
        self.stage, self._version = Stage.RUNNING, version
        self._ticket += 1
        return self._ticket

    def rebase(self, version: object) -> None:
        """Let the running or finished one count for a history that was rewritten since."""
        if self.stage is not Stage.IDLE:
            self._version = version

    def finish(self, ticket: int, result: R) -> bool:
        """Hand in a result; False if it is no longer needed."""
        if self.stage is not Stage.RUNNING or ticket != self._ticket:
            return False
        self.stage, self._result = Stage.READY, result
        return True

    def fail(self, ticket: int) -> bool:
        """There will be no result; False if none is expected any more."""
        if self.stage is not Stage.RUNNING or ticket != self._ticket:
            return False
        self._reset()
        return True

    def take(self, version: object) -> R | None:
        """The result to apply to that history; None if there is none."""
        if self.stage is not Stage.READY or version is not self._version:
            return None
        result = self._result
        self._reset()
        return result

    def discard(self) -> R | None:
        """Forget the running or finished compaction; returns its unused result."""
        result = self._result
        self._reset()
        return result

    def _reset(self) -> None:
        self.stage, self._version, self._result = Stage.IDLE, None, None
