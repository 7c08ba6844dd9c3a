"""A running command of the user's own, wherever it runs."""

import asyncio
from abc import ABC, abstractmethod


class UserProcess(ABC):
    """Reports its end and the end of its output separately: what it left running may keep the output open."""

    exited: asyncio.Future[None]
    closed: asyncio.Future[None]

    @property
    @abstractmethod
    def outcome(self) -> str:
        """How it ended, as part of a sentence; once it has."""

    @abstractmethod
    def kill(self) -> None:
        """Kill it and everything it started, unless it has ended."""

    @abstractmethod
    def leave(self) -> None:
        """Read no more of it, and let a service that it started stay."""
