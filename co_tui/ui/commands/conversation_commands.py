"""Commands that change what the model sees, or is sent next."""

from typing import TYPE_CHECKING

from co_tui.events.stored_messages import prompt_of
from co_tui.inert import one_line
from co_tui.ui.commands.file_rewinds import WHATS, rewind_to, undo_restore
from co_tui.ui.commands.host import CommandHost, why_not_open
from co_tui.ui.commands.registry import command

if TYPE_CHECKING:
    from co_tui.events import Ref
    from co_tui.session.session import Session
    from co_tui.session.state.session_state import Entry


@command("compact")
async def compact(host: CommandHost, focus: str) -> None:
    if host.session is None:
        host.say(why_not_open(host))
    else:
        await compact_now(host, host.session, focus)


async def compact_now(host: CommandHost, session: "Session", focus: str = "", upto: "Ref | None" = None) -> None:
    """Compact all of it, or what comes before a message; if a turn runs, at its end."""
    from co_tui.session.compaction.compactor import CompactionRefused

    if session.queue.busy:
        host.say("The conversation is compacted after this turn.")
    try:
        await session.compact(focus, upto)
    except CompactionRefused as refused:
        host.say(str(refused))
    finally:
        host.show_busy()


WAITING_FOR_SESSION = "Queued commands run in order once the session is open. Esc drops the last one."
CONTINUE_PROMPT = "Continue the work where you stopped."
FINISHED = "The last turn is finished. Type your next prompt."


@command("continue")
async def continue_turn(host: CommandHost, _: str) -> None:
    from co_tui.session.state.session_state import is_finished, is_unanswered

    is_known = host.session is not None or not host.sessions.session_id
    if is_known and not host.state.history:
        host.say("Nothing to continue. Type a prompt.")
    elif host.session is not None and host.session.queue.busy:
        host.say("The turn is already running.")
    elif is_known and is_finished(host.state):
        host.say(FINISHED)
    elif host.session is not None and is_unanswered(host.state):
        host.sessions.sender.retry(host.session)
    else:
        host.send(CONTINUE_PROMPT)


@command("clear")
async def clear(host: CommandHost, _: str) -> None:
    if host.session is None and host.sessions.session_id:
        host.say(why_not_open(host))
        return
    if host.session is None or not host.session.state.history:
        host.say("The context is already empty.")
        return
    await host.session.edits.clear()


@command("undo")
async def undo(host: CommandHost, seq: str) -> None:
    session = host.session
    if session is None:
        host.say(why_not_open(host))
        return
    from co_tui.session.snapshots.file_restores import RestoreRefused
    from co_tui.session.state.history_edits import NothingToUndo, rewrite_name

    at = int(seq) if seq.isdecimal() else None
    try:
        if (restore := session.edits.undoable_restore(at)) is not None:
            await undo_restore(host, session, restore)
            return
        undone = await session.edits.undo(at)
    except (NothingToUndo, RestoreRefused) as nothing:
        host.say(str(nothing))
    else:
        host.say(f"Undone: {rewrite_name(undone)}. The model sees {len(session.state.history)} messages again.")


@command("rewind")
async def rewind(host: CommandHost, arguments: str) -> None:
    session = host.session
    words = arguments.split()
    what = words.pop() if words and words[-1] in WHATS else ""
    if session is None:
        host.say(why_not_open(host))
    elif words and not (len(words) == 1 and words[0].isdecimal()):
        given = one_line(" ".join(words), 40)
        host.fail(f"/rewind takes a turn number, not {given!r}. Then `files`, `conversation` or `both`.")
    elif turn := (words[0] if words else await _chosen_turn(host, session)):
        await rewind_to(host, session, int(turn), what)


async def _chosen_turn(host: CommandHost, session: "Session") -> str:
    from co_tui.ui.dialogs.choose_message import ChooseMessageScreen, prompt_row

    said = (entry for entry in session.state.transcript if not entry.agent)
    turns = {entry.ref: entry for entry in said if prompt_of(entry.message) is not None}
    rows = [prompt_row(entry) for entry in turns.values()]
    chosen = await host.ask(lambda: ChooseMessageScreen("Rewind to before…", rows, "rewind to before it"))
    return str(turns[chosen].turn) if chosen is not None else ""


@command("pin")
async def pin(host: CommandHost, which: str) -> None:
    session = host.session
    if session is None or not session.state.history:
        host.say(why_not_open(host) if session is None else "Nothing to pin: the context is empty.")
    elif which not in ("", "last") and not which.isdecimal():
        host.fail(f"/pin takes nothing, `last` or an event number, not {one_line(which, 40)!r}.")
    elif which.isdecimal():
        await _pin_event(host, session, int(which))
    else:
        chosen = session.state.history[-1].ref if which else await _chosen_message(host, session)
        if chosen is not None:
            host.say(await _toggle_pin(session, chosen))


async def _pin_event(host: CommandHost, session: "Session", seq: int) -> None:
    entry = _entry_at(session, seq)
    if entry is None:
        host.fail(f"Event {seq} is not a message of this session.")
    else:
        host.notice(await _toggle_pin(session, entry.ref))  # the message itself shows it


def _entry_at(session: "Session", seq: int) -> "Entry | None":
    return next((entry for entry in reversed(session.state.transcript) if entry.seq == seq), None)


async def _chosen_message(host: CommandHost, session: "Session") -> "Ref | None":
    from co_tui.ui.dialogs.choose_message import ChooseMessageScreen, row_of

    pins = session.state.pins
    rows = [row_of(entry, "◉" if entry.ref in pins else "") for entry in session.state.history]
    return await host.ask(lambda: ChooseMessageScreen("Pin a message", rows, "pin or unpin"))


async def _toggle_pin(session: "Session", ref: "Ref") -> str:
    pinned = ref not in session.state.pins
    await session.edits.pin([ref], pinned=pinned)
    return "Pinned. It stays in context through every compaction." if pinned else "Unpinned."


@command("fork")
async def fork(host: CommandHost, seq: str) -> None:
    """A fork at a prompt ends before it, and the prompt can be edited."""
    session = host.session
    if session is None and host.sessions.is_read_only and not seq:
        await host.sessions.stored.fork(host.sessions.session_id)
        host.say("Forked. The original is unchanged.")
    elif session is None:
        host.say(why_not_open(host))
    elif not seq:
        await host.sessions.switch_session(await session.fork(), takes_waiting=True)
        host.say("Forked. The original is unchanged.")
    elif not seq.isdecimal() or (entry := _entry_at(session, int(seq))) is None:
        host.fail(f"/fork takes nothing or an event number, not {one_line(seq, 40)!r}.")
    else:
        prompt = prompt_of(entry.message)
        copy = await session.fork(entry.seq - (prompt is not None))
        await host.sessions.switch_session(copy, takes_waiting=True)
        if prompt is not None:
            host.sessions.sender.give_back(prompt)
        host.say("Forked from there. The original is unchanged.")


@command("queue")
async def queue(host: CommandHost, _: str) -> None:
    """Choosing a queued prompt withdraws it for editing."""
    session = host.session
    if session is None or not session.queue.prompts:
        host.say(WAITING_FOR_SESSION if host.sessions.sender.has_waiting else "No queued prompts.")
        return
    from co_tui.ui.prompt.queue_screen import QueueScreen

    number = await host.ask(lambda: QueueScreen(session.queue))
    if number is not None and (prompt := session.queue.withdraw(number)) is not None:
        host.sessions.sender.give_back(prompt)
