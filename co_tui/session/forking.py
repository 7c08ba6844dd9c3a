"""Fork a session: a copy that continues on its own."""

import asyncio
import platform
from bisect import bisect_right
from contextlib import suppress
from typing import Any

from co_tui.events import AgentTransfer, Event, Fact, Pin, SessionFork, SessionInterrupted, SessionRename
from co_tui.events.decisions import Source, refusals, without_decisions
from co_tui.events.stored_messages import parts_in
from co_tui.session.approvals.marks import source_of
from co_tui.session.compaction.compaction_files import CompactionFiles
from co_tui.session.environment import Environment
from co_tui.session.history.request_scaffold import ScaffoldFile
from co_tui.session.snapshots.storage import carry_snapshots
from co_tui.session.state import history_edits
from co_tui.session.state.session_state import Entry, SessionState, seq_of
from co_tui.session.tools.kept_output import carry_outputs
from co_tui.store.session_ids import new_session_id
from co_tui.store.timestamps import now

ORIGIN = ("model", "policy", "cwd", "repository", "branch", "repository_id")


async def fork_session(
    environment: Environment, state: SessionState, origin: dict[str, Any], upto: int | None = None
) -> str:
    """Create a session that starts in this state, or in the state at a seq; returns its id. The source is only read."""
    source, target = state.session_id, new_session_id()
    seq = state.seq
    if upto is not None:
        seq = _with_stop(state, _with_results(state, await environment.stored_state(source, upto)))
    if seq < state.seq and any(isinstance(event.fact, AgentTransfer) for event in state.timeline):
        origin = {**origin, "model": (await environment.stored_state(source, seq)).model}  # of the agent of that time
    fork = SessionFork(source_session_id=source, source_seq=seq, **origin)
    is_own = await _copy(environment, target, environment.marks.marked(target, fork, state.cwd))
    recorder = environment.recorder(target, await environment.stored_state(target))
    renamed = SessionRename(title=history_edits.fork_title(state.title), **origin)
    await recorder.record(renamed, *_pins_since(state, recorder.state))
    await asyncio.to_thread(environment.files.refresh_session, source)
    files = CompactionFiles(recorder, environment.checkpoints(source), None)
    folder = environment.paths.session(target)
    await files.carry(folder, recorder.state)
    if not environment.private:
        await _carry_files(environment, source, target, seq)
        if is_own:
            scaffold = ScaffoldFile(folder, environment.files.session_changed(target))
            await ScaffoldFile(environment.paths.session(source)).carry(scaffold)
        await asyncio.to_thread(environment.files.carry, source, target, is_own=is_own)
    return target


async def _copy(environment: Environment, target: str, fork: Fact) -> bool:
    """Copy the log; False for that of another user, which comes without its decisions."""
    assert isinstance(fork, SessionFork)
    source, seq, writing = fork.source_session_id, fork.source_seq, environment.store.writing()

    def others_log() -> list[Event]:
        with environment.store.reading() as reading:
            if source_of(reading, source) is not Source.OTHERS:
                return []
            log = [event.but(session_id=target) for event in without_decisions(reading.events(source, upto=seq))]
        last = log[-1].but(timestamp=now(), extra={})
        added = [*refusals(log), fork]
        return [*log, *(last.but(seq=(last.seq or 0) + n, fact=fact) for n, fact in enumerate(added, 1))]

    if log := await asyncio.to_thread(others_log):
        await asyncio.wrap_future(writing.import_log(log))
        return False
    await asyncio.wrap_future(writing.fork(source, target, seq, fork))
    return True


def _with_results(state: SessionState, then: SessionState) -> int:
    """The event with the last result of the calls that were open then; the last event of then if they have none.

    Without its result, a call that has long been answered would be closed as interrupted. One that waits for an answer
    of the user is asked about again.
    """
    seq = then.seq
    open_calls: set[str] = set()
    for entry in () if then.pending else reversed(then.history):
        open_calls ^= _call_ids(entry)
        if entry.message.get("kind") == "response":
            break
    for entry in state.transcript[len(then.transcript) :]:
        if entry.agent:
            continue
        if not open_calls or entry.message.get("kind") == "response":
            break
        if answered := open_calls & _call_ids(entry):
            open_calls -= answered
            seq = entry.seq
    return seq


def _call_ids(entry: Entry) -> set[str]:
    """The calls that a message makes or answers."""
    return {str(part["tool_call_id"]) for part in parts_in(entry.message) if part.get("tool_call_id")}


def _with_stop(state: SessionState, seq: int) -> int:
    """The event after a partial reply that says why it is partial, if that follows at once; else the event itself."""
    place = bisect_right(state.timeline, seq, key=seq_of)
    following = state.timeline[place] if place < len(state.timeline) else None
    is_stop = following is not None and following.seq == seq + 1 and isinstance(following.fact, SessionInterrupted)
    return seq + 1 if is_stop else seq


def _pins_since(state: SessionState, forked: SessionState) -> list[Pin]:
    """The pins of messages that the fork has, but were pinned after the point where it starts."""
    present = {entry.ref for entry in (*state.history, *forked.history)}
    fact = history_edits.pinned(forked, sorted((state.pins - forked.pins) & present), on=True)
    return [fact] if fact.messages else []


async def _carry_files(environment: Environment, source: str, target: str, upto: int) -> None:
    paths = environment.paths
    with suppress(OSError):  # then its files cannot be restored to before the fork
        await asyncio.to_thread(carry_snapshots, paths.snapshots(source), paths.snapshots(target), upto)
    with suppress(OSError):
        await asyncio.to_thread(carry_outputs, paths.session(source), paths.session(target))


async def fork_stored(environment: Environment, session_id: str, upto: int | None = None) -> str:
    """The same for a session that is not open in this process."""
    state = await environment.stored_state(session_id)
    origin = {**{name: getattr(state, name) for name in ORIGIN}, "host": platform.node()}
    return await fork_session(environment, state, origin, upto)
