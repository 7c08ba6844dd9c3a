"""Open an entry of the timeline, and do what is asked for there."""

from typing import TYPE_CHECKING

from co_tui.events import CompactionComplete, Event
from co_tui.session.slash.command_host import CommandFailed
from co_tui.session.slash.conversation_commands import undo
from co_tui.ui.commands.host import CommandHost
from co_tui.ui.compaction.compaction_screen import CompactionRequest, CompactionScreen
from co_tui.ui.dialogs.simple_dialogs import EditScreen
from co_tui.ui.timeline.detail_screen import EventScreen

if TYPE_CHECKING:
    from co_tui.session.session import Session


async def open_entry(host: CommandHost, event: Event) -> None:
    if isinstance(event.fact, CompactionComplete) and event.fact.success and host.state.transcript:
        request = await host.ask(lambda: CompactionScreen(event, host.state))
        if request is not None:
            await _carry_out(host, request)
    else:
        await host.ask(lambda: EventScreen(event))


async def _carry_out(host: CommandHost, request: CompactionRequest) -> None:
    session = host.opened()
    if request.action == "undo":
        await undo(host, str(request.seq))
    elif request.action == "pin" and request.ref is not None:
        await session.edits.pin([request.ref])
        host.say("The message is back in context, and pinned.")
    elif request.action == "edit":
        await _edit_summary(host, session, request.seq)


async def _edit_summary(host: CommandHost, session: "Session", seq: int) -> None:
    from co_tui.session.state.history_edits import NothingToUndo

    event = next((each for each in session.state.compactions if each.seq == seq), None)
    if event is None or not isinstance(event.fact, CompactionComplete):
        return
    summary = event.fact.summary
    text = await host.ask(lambda: EditScreen("Summary, as the model sees it", summary))
    if text is None:
        return
    try:
        await session.edits.edit_summary(seq, text)
    except NothingToUndo as nothing:
        raise CommandFailed(str(nothing)) from None
