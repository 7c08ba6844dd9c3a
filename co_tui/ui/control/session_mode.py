"""The permission mode of the shown session, or of the next one."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from co_tui.events.wording import mode_line
from co_tui.inert import one_line
from co_tui.session.approvals.questions import ASKED_AGAIN
from co_tui.session.slash.command_host import CommandFailed
from co_tui.settings.permission_rules import rules_text
from co_tui.settings.rules import AUTO, MODES, NOT_AT_HOME, offered_modes
from co_tui.ui.approvals.modes import SandboxCheck
from co_tui.ui.chat.chat_screen import ChatScreen

if TYPE_CHECKING:
    from co_tui.session.launch import Launch
    from co_tui.session.session import Session


STILL_ALLOWED: Final = "Still allowed in this session: {}. /approvals lists and revokes."
RULES_CHARS: Final = 120


class Modes:
    """Switches modes. A mode chosen before a session is open waits for it."""

    def __init__(
        self,
        chat: ChatScreen,
        sandbox: SandboxCheck,
        session: "Callable[[], Session | None]",
        launch: "Callable[[], Launch]",
    ) -> None:
        """`session` returns the open one, `launch` what new sessions start with."""
        self._chat, self._sandbox, self._session, self._launch = chat, sandbox, session, launch
        self._waiting = ""
        """The mode chosen for the next session."""
        self._one_at_a_time = asyncio.Lock()

    @property
    def current(self) -> str:
        session = self._session()
        return session.state.mode if session is not None else self._waiting or self._launch().settings.mode

    async def next(self) -> None:
        """Switch to the next mode; skips auto where no sandbox works, and what is not offered in the home folder."""
        self._sandbox.begin()  # done by the time auto is reached
        async with self._one_at_a_time:
            present = self.current
            mode = MODES[(MODES.index(present) + 1) % len(MODES)] if present in MODES else MODES[0]
            skipped = ""
            if self._is_refused_at_home(mode):
                skipped = f"Skipped {mode}: not offered in the home folder or above it."
            elif mode == AUTO and await self._sandbox.trouble():
                skipped = f"Skipped {AUTO}: no sandbox here."
            if skipped:
                mode = MODES[(MODES.index(mode) + 1) % len(MODES)]
            await self._switch(mode)
        self._chat.status.show_mode_line(f"{skipped} Now: {mode}" if skipped else mode_line(mode))

    async def switch(self, mode: str) -> None:
        """Raises `CommandFailed`."""
        async with self._one_at_a_time:
            if self._is_refused_at_home(mode):
                raise CommandFailed(NOT_AT_HOME.format(mode))
            if mode == AUTO and (trouble := await self._sandbox.trouble()):
                raise CommandFailed(f"Mode {AUTO} needs a sandbox, which does not start here: {trouble}.")
            await self._switch(mode)
        self._chat.status.show_mode_line(mode_line(mode))

    def _is_refused_at_home(self, mode: str) -> bool:
        return mode not in offered_modes(at_home=self._launch().workplace.at_home)

    async def _switch(self, mode: str) -> None:
        session = self._session()
        if session is None:
            self._waiting = mode
        else:
            await _switch_session(session, mode)
        self.show()

    async def begin(self, session: "Session") -> None:
        """Apply the mode chosen before this session was open; the chat says why a mode was refused, and what earlier
        answers of a resumed session still allow."""
        trouble, waiting, self._waiting = session.mode_refused, self._waiting, ""
        try:
            if waiting:
                await _switch_session(session, waiting)
        except CommandFailed as unavailable:
            trouble = str(unavailable)
        if trouble:
            self._chat.feed.note(trouble, "error")
        for note in filter(None, (session.restore_note, *session.folders.problems)):
            self._chat.feed.note(note)
        await self._say_approvals(session)
        self.show()

    async def _say_approvals(self, session: "Session") -> None:
        approvals = session.approvals
        allowed = await asyncio.to_thread(approvals.of_this_session) if session.resumed_from.allowed else []
        again = [*session.asked_again, *await asyncio.to_thread(approvals.of_other_machines)]
        for sentence, rules in ((STILL_ALLOWED, [*map(str, allowed)]), (ASKED_AGAIN, again)):
            if rules:
                self._chat.feed.note(sentence.format(one_line(rules_text(rules), RULES_CHARS)))

    def forget(self) -> None:
        """Drop the waiting choice: it does not apply to another session."""
        self._waiting = ""

    def show(self) -> None:
        self._chat.status.show_mode(self.current)


async def _switch_session(session: "Session", mode: str) -> None:
    from co_tui.session.approvals.modes import ModeRefused

    try:
        await session.switcher.switch_mode(mode)
    except ModeRefused as refused:
        raise CommandFailed(str(refused)) from None
