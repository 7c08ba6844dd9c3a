"""Commands that change what the model sees, or is sent next."""

from typing import TYPE_CHECKING, Final

from co_tui.events.stored_messages import prompt_of
from co_tui.events.wording import counted
from co_tui.inert import one_line
from co_tui.session.slash.command_host import CommandFailed, CommandHost, WrongArguments, command
from co_tui.session.slash.file_rewinds import EDIT, WHATS, rewind_to, undo_restore

if TYPE_CHECKING:
    from co_tui.events import Ref
    from co_tui.session.session import Session
    from co_tui.session.state.session_state import Entry
    from co_tui.session.turns.turn import Outcome

DEEP: Final = "--deep"


@command("compact")
async def compact(host: CommandHost, arguments: str) -> "Outcome":
    first, _, rest = arguments.partition(" ")
    deep = first == DEEP
    if first.startswith("--") and not deep:
        raise WrongArguments(f"/compact has no option {one_line(first, 40)!r}. Use {DEEP}, or begin with the focus.")
    return await compact_now(host, host.opened(), rest.strip() if deep else arguments, deep=deep)


async def compact_now(
    host: CommandHost, session: "Session", focus: str = "", upto: "Ref | None" = None, *, deep: bool = False
) -> "Outcome":
    """Compact all of it, or what comes before a message; if a turn runs, at its end. If `deep`, only the newest step
    stays."""
    from co_tui.session.compaction.compactor import CompactionRefused
    from co_tui.session.turns.turn import Outcome

    if session.queue.busy and not session.is_compacting:
        host.say("The conversation is compacted after this turn.")
    try:
        done = await session.compact(focus, upto, deep=deep)
    except CompactionRefused as refused:
        raise CommandFailed(str(refused)) from None
    finally:
        host.show_busy()
    if done.cancelled:
        return Outcome.INTERRUPTED
    return Outcome.DONE if done.success else Outcome.FAILED


CONTINUE_PROMPT = "Continue the work where you stopped."
FINISHED = "The last turn is finished. Type your next prompt."


@command("continue")
async def continue_turn(host: CommandHost, _: str) -> None:
    from co_tui.session.state.session_state import is_finished, is_unanswered

    is_known = host.session is not None or not host.session_id
    if is_known and not host.state.history:
        host.say("Nothing to continue. Type a prompt.")
    elif host.session is not None and host.session.queue.busy:
        host.say("The turn is already running.")
    elif is_known and is_finished(host.state):
        host.say(FINISHED)
    elif host.session is not None and is_unanswered(host.state):
        host.retry()
    else:
        host.send(CONTINUE_PROMPT)


@command("clear")
async def clear(host: CommandHost, _: str) -> None:
    session = host.opened() if host.session_id else None
    if session is None or not await session.edits.clear():
        host.say("The context is already empty.")
    else:
        host.done(f"Cleared. The model sees {counted(len(session.state.history), 'message')}. /undo goes back.")


@command("undo")
async def undo(host: CommandHost, seq: str) -> None:
    if seq and not seq.isdecimal():
        raise WrongArguments(f"/undo takes nothing or an event number, not {one_line(seq, 40)!r}.")
    session = host.opened()
    from co_tui.session.snapshots.file_restores import RestoreRefused
    from co_tui.session.state.history_edits import NothingToUndo, rewrite_name

    at = int(seq) if seq else None
    try:
        if (restore := session.edits.undoable_restore(at)) is not None:
            await undo_restore(host, session, restore)
            return
        undone = await session.edits.undo(at)
    except (NothingToUndo, RestoreRefused) as nothing:
        raise CommandFailed(str(nothing)) from None
    host.say(f"{rewrite_name(undone).capitalize()} undone. {await _seen_again(session)}")


async def _seen_again(session: "Session") -> str:
    """How many messages the next request has, and how many do not fit."""
    following = await session.history.next_request()
    seen, left_out = len(following.messages), len(following.prepared.held.left_out)
    if not left_out:
        every = "all " if seen > 1 and not session.state.rewrites else ""
        return f"The model sees {every}{counted(seen, 'message')} again."
    count = counted(len(session.state.history), "message")
    return f"Of {count}, the model sees {seen:,}; {left_out:,} do not fit."


@command("rewind")
async def rewind(host: CommandHost, arguments: str) -> None:
    session = host.opened()
    words = arguments.split()
    what = words.pop() if words and words[-1] in (*WHATS, EDIT) else ""
    if len(words) != 1 or not words[0].isdecimal():
        given = f", not {one_line(' '.join(words), 40)!r}" if words else ""
        raise WrongArguments(f"/rewind takes a turn number{given}. Then `files`, `conversation` or `both`.")
    await rewind_to(host, session, int(words[0]), what)


@command("pin")
async def pin(host: CommandHost, which: str) -> None:
    session = host.opened()
    if not session.state.history:
        raise CommandFailed("Nothing to pin: the context is empty.")
    if which == "last":
        host.say(await toggle_pin(session, session.state.history[-1].ref))
    elif not which.isdecimal():
        raise WrongArguments(f"/pin takes `last` or an event number, not {one_line(which, 40)!r}.")
    elif (entry := _entry_at(session, int(which))) is None:
        raise WrongArguments(_why_no_message(session, int(which)))
    else:
        host.notice(await toggle_pin(session, entry.ref))


def _entry_at(session: "Session", seq: int) -> "Entry | None":
    return next((entry for entry in reversed(session.state.transcript) if entry.seq == seq), None)


def _why_no_message(session: "Session", seq: int) -> str:
    from co_tui.session.state.history_edits import no_event

    is_event = 0 < seq <= session.state.seq
    return f"Event {seq} is not a message of this session." if is_event else no_event(session.state, seq)


async def toggle_pin(session: "Session", ref: "Ref") -> str:
    """Pin a message, or unpin it; returns what was done, in a sentence."""
    pinned = ref not in session.state.pins
    await session.edits.pin([ref], pinned=pinned)
    return "Pinned. It stays in context through every compaction." if pinned else "Unpinned."


@command("fork")
async def fork(host: CommandHost, seq: str) -> None:
    """A fork at a prompt ends before it, and the prompt can be edited."""
    session = host.opened()
    if not seq:
        await host.continue_in(await session.fork())
        host.say("Forked. The original is unchanged.")
    elif not seq.isdecimal():
        raise WrongArguments(f"/fork takes nothing or an event number, not {one_line(seq, 40)!r}.")
    elif (entry := _entry_at(session, int(seq))) is None:
        raise WrongArguments(_why_no_message(session, int(seq)))
    else:
        prompt = prompt_of(entry.message)
        await host.continue_in(await session.fork(entry.seq - (prompt is not None)))
        if prompt is not None:
            host.give_back(prompt)
        host.say("Forked from there. The original is unchanged.")
