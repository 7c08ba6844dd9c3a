"""The life of a session: start, end, and changes of model, policy and mode."""

from co_tui.events.facts.base import Announced, Logged


class SessionOrigin(Logged):
    """Where a session runs, and with which model and policy."""

    model: str = ""
    policy: str = ""
    cwd: str = ""
    repository: str = ""
    branch: str = ""


class SessionStart(SessionOrigin):
    TYPE = "session.start"


class SessionResume(SessionOrigin):
    TYPE = "session.resume"


class SessionFork(SessionOrigin):
    TYPE = "session.fork"
    source_session_id: str
    source_seq: int


class SessionRename(SessionOrigin):
    TYPE = "session.rename"
    title: str
    by: str = ""
    """The model that wrote the title; empty if the user did."""
    cost: float | None = None


class SessionPinned(Logged):
    """The session was pinned (listed first, never cleaned up) or unpinned."""

    TYPE = "session.pinned"
    pinned: bool = True


class SessionTrashed(Logged):
    """The session was put into the trash or restored from it."""

    TYPE = "session.trashed"
    trashed: bool = True
    reason: str = ""
    """Why, if it was not the user."""


class SessionEnd(SessionOrigin):
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
    """The permission mode changed."""

    TYPE = "session.mode_change"
    from_: str
    to: str


class QueueChanged(Announced):
    """The queue of waiting prompts changed. Each prompt is logged when its turn starts."""

    TYPE = "queue.changed"
    prompts: tuple[str, ...]
    """All waiting prompts, in order."""
    held: int = 0
    """How many of them are on hold until the user releases them."""


class PromptReturned(Announced):
    """A waiting prompt will not be sent; it returns to the prompt box."""

    TYPE = "prompt.returned"
    prompt: str
