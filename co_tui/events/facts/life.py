"""A session's life: how it begins and ends, and with what it goes on."""

from co_tui.events.facts.base import Announced, Logged


class Place(Logged):
    """Where and with what a session runs; part of every event of a session's life."""

    model: str = ""
    policy: str = ""
    cwd: str = ""
    repository: str = ""
    branch: str = ""


class SessionStart(Place):
    TYPE = "session.start"


class SessionResume(Place):
    TYPE = "session.resume"


class SessionFork(Place):
    TYPE = "session.fork"
    source_session_id: str
    source_seq: int


class SessionRename(Place):
    TYPE = "session.rename"
    title: str
    by: str = ""
    """The model that made the title; empty when the user gave it."""
    cost: float | None = None


class SessionPinned(Logged):
    """The session stands first in every list and is never cleaned up, or no longer so."""

    TYPE = "session.pinned"
    pinned: bool = True


class SessionTrashed(Logged):
    """The session was put into the trash, where it can be taken out of for some time, or was taken out of it."""

    TYPE = "session.trashed"
    trashed: bool = True
    reason: str = ""
    """Why, when it was not the user who did it."""


class SessionEnd(Place):
    TYPE = "session.end"
    reason: str = ""


class ModelChange(Logged):
    TYPE = "session.model_change"
    from_: str
    to: str
    window_before: int | None = None
    window_after: int | None = None


class PolicyChange(Logged):
    TYPE = "session.policy_change"
    from_: str
    to: str
    window_before: int | None = None
    window_after: int | None = None


class ModeChange(Logged):
    """Something else runs without a question from now on."""

    TYPE = "session.mode_change"
    from_: str
    to: str


class QueueChanged(Announced):
    """Other prompts wait for their turn than before. Each is logged when its own turn begins."""

    TYPE = "queue.changed"
    prompts: tuple[str, ...]
    """All that wait, in order."""
    held: int = 0
    """How many of them are not said before the user says so."""


class PromptReturned(Announced):
    """A prompt that waited will not be said; it goes back to its writer."""

    TYPE = "prompt.returned"
    prompt: str
