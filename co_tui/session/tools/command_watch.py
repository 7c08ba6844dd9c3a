"""Watch a background command: report once when it prints what is waited for, and when it ends."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from co_tui.inert import one_line

LOOK_S: Final = 0.5
PIECE_BYTES: Final = 64 * 1024
MOST_LOOKED_BYTES: Final = 4_000_000
"""At once; more is looked at the next time."""
LONGEST_WAITED_CHARS: Final = 200
OUTPUT_CHARS: Final = 2_000
COMMAND_CHARS: Final = 160


class BackgroundCommand(NamedTuple):
    """The current state of a background command."""

    id: str
    command: str
    seconds: float
    """Since its start."""
    running: bool
    exit_code: int | None
    """None also if it was killed."""
    output: str
    """The end of its output."""


class CommandNews(NamedTuple):
    """What became of a background command."""

    state: BackgroundCommand
    printed: str = ""
    """What was waited for, if it printed that; else it ended."""
    by_user: bool = False
    """Whether the user ended it."""
    is_known: bool = False
    """Whether the model has seen that it ended."""
    agent: str = ""
    """Who started it."""
    is_moved: bool = False
    """Whether the user moves it to the background now; a call waited for it."""
    stays: str = ""
    """Why it was not moved after all."""

    @property
    def ended_id(self) -> str:
        """Its id, if it ended."""
        return "" if self.printed or self.is_moved else self.state.id

    @property
    def outcome(self) -> str:
        """What happened, in a few words."""
        took = f"{self.state.seconds:,.0f} s"
        if self.stays:
            return f"not moved to the background: {self.stays}"
        if self.is_moved:
            return f"moved to the background after {took}"
        if self.printed:
            return f"printed “{one_line(self.printed, LONGEST_WAITED_CHARS)}” after {took}"
        if self.by_user:
            return f"stopped by the user after {took}"
        code = self.state.exit_code
        return f"ended after {took}" if code is None else f"ended with exit code {code} after {took}"

    @property
    def for_model(self) -> str:
        """What the model has to know."""
        output = self.state.output[-OUTPUT_CHARS:]
        said = f"The end of its output:\n{output}" if output.strip() else "It printed nothing."
        about = f"`{one_line(self.state.command, COMMAND_CHARS)}` (ID {self.state.id})"
        return f"{self.outcome[0].upper()}{self.outcome[1:]}: {about}.\n{said}"


Tell: TypeAlias = Callable[[CommandNews], Awaitable[None]]


class WaitedText:
    """Looks for a text in what a command writes from now on, each byte once."""

    def __init__(self, text: str, files: Sequence[Path]) -> None:
        self._wanted = text[:LONGEST_WAITED_CHARS].encode()
        self._read = dict.fromkeys(files, (0, b""))

    def found(self) -> bool:
        return bool(self._wanted) and any(self._is_in(file) for file in self._read)

    def _is_in(self, file: Path) -> bool:
        """Links are not followed, and nothing blocks: commands can write there."""
        try:
            handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return False
        at, rest = self._read[file]
        try:
            if os.fstat(handle).st_size < at:  # its beginning was dropped
                at, rest = 0, b""
            until = at + MOST_LOOKED_BYTES
            while at < until and (piece := os.pread(handle, PIECE_BYTES, at)):
                at += len(piece)
                if self._wanted in rest + piece:
                    return True
                rest = (rest + piece)[-len(self._wanted) :]
            return False
        except OSError:
            return False
        finally:
            self._read[file] = (at, rest)
            os.close(handle)


async def watch(look: Callable[[], BackgroundCommand], waited: WaitedText, text: str, tell: Tell, agent: str) -> None:
    """Tell when the text is printed, and when the command ends; returns then."""
    is_waiting = bool(text)
    while True:
        # In this order: what it printed at its end is there once it has ended.
        state = await asyncio.to_thread(look)
        if is_waiting and await asyncio.to_thread(waited.found):
            is_waiting = False
            await tell(CommandNews(state, text, agent=agent))
        if not state.running:
            await tell(CommandNews(await asyncio.to_thread(look), agent=agent))
            return
        await asyncio.sleep(LOOK_S)
