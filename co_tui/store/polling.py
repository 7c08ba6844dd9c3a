"""Watching a session by reading it again and again, where no store reports changes."""

from typing import Final, Self

POLL_S: Final = 0.5


class Polling:
    """Reports nothing; its caller reads the session every `poll_s`."""

    poll_s: float = POLL_S

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None: ...
