"""Built-in slash commands of `co-tui run`."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from co_tui.actions import SlashCommand
from co_tui.headless.open_session import SessionOpening, launch_of
from co_tui.headless.output import DONE, FAILED, INTERRUPTED, WRONG_USAGE, put, say
from co_tui.headless.slash_host import SlashHost
from co_tui.inert import inert
from co_tui.session.session import Session
from co_tui.session.slash.command_host import CommandFailed, NoSession, WrongArguments
from co_tui.session.slash.typed_command import find, parse_command
from co_tui.session.turns.turn import Outcome

EXIT_CODES: Final[Mapping[Outcome, int]] = {
    Outcome.DONE: DONE,
    Outcome.FAILED: FAILED,
    Outcome.INTERRUPTED: INTERRUPTED,
}


class BuiltInCommand(NamedTuple):
    """A built-in slash command in place of a prompt."""

    row: SlashCommand
    arguments: str
    host: Callable[[Session | None], SlashHost]
    """Makes its host."""

    @classmethod
    def of(
        cls, prompt: str, opening: SessionOpening, *, json: bool, yes: bool, read_only: bool
    ) -> "BuiltInCommand | None":
        """The command that a prompt is; None for an ordinary prompt and for a command from a file or a server."""
        called = parse_command(prompt)
        row = find(called.name) if called is not None else None
        if called is None or row is None:
            return None
        # With --json standard output is the log alone.
        answer = say if json else lambda text: put(inert(text))
        launch = launch_of(opening)
        return cls(
            row,
            called.arguments,
            lambda session: SlashHost(launch, session, say, answer, yes=yes, read_only=read_only, keeps_mode=False),
        )

    def run_without_session(self) -> int | None:
        """Returns the exit code; None if the command needs a session."""
        try:
            return asyncio.run(self.run(None))
        except NoSession:
            return None

    async def run(self, session: Session | None) -> int:
        """Returns the exit code."""
        try:
            return EXIT_CODES[await self.host(session).run(self.row, self.arguments)]
        except NoSession:
            raise
        except CommandFailed as failed:
            say(str(failed))
            return WRONG_USAGE if isinstance(failed, WrongArguments) else FAILED
