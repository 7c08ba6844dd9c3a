"""Commands about the conversation that let the user choose."""

from typing import TYPE_CHECKING

from co_tui.events import CompactionComplete, Event, Ref
from co_tui.events.stored_messages import prompt_of
from co_tui.session.slash import conversation_commands as without_dialog
from co_tui.session.slash.command_host import CommandFailed
from co_tui.session.slash.conversation_commands import undo
from co_tui.session.slash.file_rewinds import WHATS
from co_tui.session.state.history_edits import NothingToUndo, said
from co_tui.ui.commands.host import CommandHost, command
from co_tui.ui.compaction.compaction_screen import CompactionRequest, CompactionScreen
from co_tui.ui.dialogs.choose_message import ChooseMessageScreen, changed_files, prompt_row, row_of
from co_tui.ui.dialogs.simple_dialogs import EditScreen
from co_tui.ui.keys.command_table import key_of
from co_tui.ui.prompt.queue_screen import QueueScreen
from co_tui.ui.timeline.detail_screen import EventScreen

if TYPE_CHECKING:
    from co_tui.session.session import Session

WAITING_FOR_SESSION = "Queued commands run in order once the session is open. Esc drops the last one."


@command("rewind")
async def rewind(host: CommandHost, arguments: str) -> None:
    if arguments in ("", *WHATS):
        turn = await _chosen_turn(host, host.opened())
        if not turn:
            return
        arguments = f"{turn} {arguments}"
    await without_dialog.rewind(host, arguments)


async def _chosen_turn(host: CommandHost, session: "Session") -> str:
    transcript = said(session.state)
    turns = {each.ref: each for each in transcript if not each.agent and prompt_of(each.message) is not None}
    changed = changed_files(transcript)
    rows = [prompt_row(entry, changed.get(entry.turn, ())) for entry in turns.values()]
    chosen = await host.ask(lambda: ChooseMessageScreen("Rewind to before…", rows, "rewind to before it"))
    return str(turns[chosen].turn) if chosen is not None else ""


@command("pin")
async def pin(host: CommandHost, which: str) -> None:
    if which or not host.opened().state.history:
        await without_dialog.pin(host, which)
    elif (chosen := await _chosen_message(host, host.opened())) is not None:
        host.say(await without_dialog.toggle_pin(host.opened(), chosen))


async def _chosen_message(host: CommandHost, session: "Session") -> "Ref | None":
    pins = session.state.pins
    rows = [row_of(entry, "◉" if entry.ref in pins else "") for entry in session.state.history]
    return await host.ask(lambda: ChooseMessageScreen("Pin a message", rows, "pin or unpin"))


@command("fork")
async def fork(host: CommandHost, seq: str) -> None:
    """A session that is only read here can be forked, too."""
    if host.session is None and host.sessions.is_read_only and not seq:
        trouble = await host.sessions.stored.refresh(host.session_id)
        await host.sessions.stored.fork(host.session_id)
        host.say(f"Forked. The original is unchanged. {trouble}".rstrip())
    else:
        await without_dialog.fork(host, seq)


@command("queue")
async def queue(host: CommandHost, _: str) -> None:
    """Choosing a queued prompt withdraws it for editing."""
    session = host.session
    if session is None or not session.queue.prompts:
        host.say(WAITING_FOR_SESSION if host.sessions.sender.has_waiting else "No queued prompts.")
        return
    number = await host.ask(lambda: QueueScreen(session.queue))
    if number is not None and (prompt := session.queue.withdraw(number)) is not None:
        host.give_back(prompt)


async def offer_compaction(host: CommandHost) -> None:
    """Say what a compaction would free; asked again, compact."""
    from co_tui.ui.compaction.compact_offer import CompactOffer

    session = host.opened()
    if open_offer := host.view.query(CompactOffer):
        open_offer.first().action_press_again()
        return
    when = " after this turn" if session.queue.busy else ""
    offer = CompactOffer(session.forecast, key=key_of("compact", host.launch.settings.keys), when=when)
    await host.view.mount(offer, before="#prompt")
    offer.focus()


async def open_entry(host: CommandHost, event: Event) -> None:
    if isinstance(event.fact, CompactionComplete) and event.fact.success and host.state.transcript:
        state = host.session.state if host.session is not None else host.state  # it may have events not shown yet
        request = await host.ask(lambda: CompactionScreen(event, state))
        if request is not None:
            await _carry_out(host, request, event)
    else:
        await host.ask(lambda: EventScreen(event))


async def _carry_out(host: CommandHost, request: CompactionRequest, event: Event) -> None:
    session = host.opened()
    if request.action == "undo":
        await undo(host, str(request.seq))
    elif request.action == "pin" and request.ref is not None:
        await session.edits.pin([request.ref])
        host.say("The message is back in context, and pinned.")
    elif request.action == "edit":
        await _edit_summary(host, session, event)


async def _edit_summary(host: CommandHost, session: "Session", event: Event) -> None:
    """Leads back to the opened compaction, with the edit or without."""
    assert isinstance(event.fact, CompactionComplete)
    summary = event.fact.summary
    text = await host.ask(lambda: EditScreen("Summary, as the model sees it", summary, needs_text=True))
    if text is None:
        await open_entry(host, event)
        return
    try:
        await session.edits.edit_summary(event.seq or 0, text)
    except NothingToUndo as nothing:
        raise CommandFailed(str(nothing)) from None
    await open_entry(host, session.state.compactions[-1])
