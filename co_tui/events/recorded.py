"""What the log records of calls and files, as the state of a session holds it."""

from typing import NamedTuple

from co_tui.events.facts.conversation import CallOutcome


class LoggedOutcome(NamedTuple):
    """How a call ended, with the number of its event."""

    seq: int
    fact: CallOutcome


class ChangedFile(NamedTuple):
    """A file that the session changed."""

    now: str
    """What it is compared to before the session: `new`, `gone`, `as before`, `unsure` if that is not known any more, or
    empty if it is just changed."""
    seq: int
    """The event of the last change."""
    is_covered: bool = True
    """Whether snapshots show its changes."""
