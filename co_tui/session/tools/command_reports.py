"""Reports what became of commands: to the user now, to the agent with its next request."""

from typing import Final

from co_tui.events import BackgroundNews, SessionError
from co_tui.inert import one_line
from co_tui.session.pending_notes import PendingNotes
from co_tui.session.recorder import Recorder
from co_tui.session.state.session_state import SessionState
from co_tui.session.tools.command_watch import COMMAND_CHARS, CommandNews
from co_tui.session.tools.folder.folder_guard import CreatedProtected
from co_tui.session.tools.left_commands import SOURCE, left_commands

WHAT: Final = "Background command"
UNSANDBOXED: Final = (
    "Hooks and checks that run files of this folder are not sandboxed here, so look at what the model changes:"
)


class CommandReports:
    """Logs them, and adds notes for the model."""

    def __init__(self, recorder: Recorder, notes: PendingNotes) -> None:
        self._recorder, self._notes = recorder, notes

    async def news(self, news: CommandNews) -> None:
        """A background command ended, or printed what was waited for: the agent that started it gets a note. Or the
        user moves one there."""
        command = one_line(news.state.command, COMMAND_CHARS)
        started_by = self._recorder.state.delegations.get(news.agent)
        agent = news.agent if started_by is not None and started_by.status == "running" else ""
        if not news.is_known:
            self._notes.add(SOURCE, news.for_model, agent)
        if not news.by_user or news.printed:
            what = "Command" if news.is_moved else WHAT
            await self._recorder.record(
                BackgroundNews(what=what, where=command, outcome=news.outcome, command_id=news.ended_id)
            )

    async def report_left(self, state: SessionState) -> None:
        """The session is opened again in this state: the background commands it had are gone. The user gets that once,
        the model with its next request."""
        for each in left_commands(state):
            if not each.is_logged:
                news = BackgroundNews(what=WHAT, where=each.command, outcome=each.outcome, command_id=each.id)
                await self._recorder.record(news)
            self._notes.add(SOURCE, each.for_model)

    async def unsandboxed(self, why: str) -> None:
        """A hook or a check runs files of the project, and no sandbox can hold it."""
        what = f"{UNSANDBOXED} {one_line(why, COMMAND_CHARS)}."
        await self._recorder.record(SessionError(what=what, kind="sandbox", outcome="not sandboxed"))

    async def set_aside(self, created: CreatedProtected) -> None:
        """A sandboxed command left something under a protected name, which was moved away."""
        await self._recorder.record(SessionError(what=created.sentence(), kind="sandbox", outcome="moved"))
