"""Rewind a session that is not open, without a model: its conversation, its files, or both."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from co_tui.events import Event, Rewind
from co_tui.paths import Paths
from co_tui.session.claiming import claimed
from co_tui.session.compaction.compaction_files import CompactionFiles
from co_tui.session.recorder import Recorder
from co_tui.session.snapshots.file_restores import Consent, FileRestores, Restored, RestoreRefused
from co_tui.session.snapshots.session_files import SessionFiles
from co_tui.session.snapshots.several_folders import folders_of_log, local_snapshots
from co_tui.session.snapshots.storage import cut_off_restores
from co_tui.session.state.derive import replay
from co_tui.session.state.history_edits import beginning_of
from co_tui.session.state.session_state import SessionState
from co_tui.session.synced_files import SyncedFiles
from co_tui.session.workplace.host.address import recorded_address, resume_hint
from co_tui.store.port import Store
from co_tui.store.store_errors import StoreError


class StoredRewind(NamedTuple):
    """What was logged, what was restored, and what became of a restore that was cut off before."""

    events: Sequence[Event]
    restored: Restored | None
    note: str


async def rewind_stored(
    store: Store,
    paths: Paths,
    environ: Mapping[str, str],
    session_id: str,
    turn: int,
    *,
    conversation: bool,
    files: bool,
    force: bool = False,
) -> StoredRewind:
    """Go back to before a turn. Files that the session and then others changed stay as they are, unless `force`.

    Raises `NothingToUndo`, `RestoreRefused` and `StoreError` before anything changes.
    """
    async with claimed(store, session_id):
        writing = store.writing()
        await asyncio.wrap_future(writing.recover(session_id))
        state = await asyncio.to_thread(_stored_state, store, session_id)
        first = beginning_of(state, turn)
        if files and (address := recorded_address(state.cwd)) is not None:
            raise RestoreRefused(resume_hint(address, session_id))
        recorder = Recorder(session_id, writing, state)
        restores = _restores(recorder, paths, state.cwd, environ)
        note = await restores.recover()
        seq, restored = recorder.state.seq, None
        facts: tuple[Rewind, ...] = ()
        if conversation:
            then = await asyncio.to_thread(_stored_state, store, session_id, first.seq - 1)
            facts = (Rewind(to_seq=first.seq - 1, history=tuple(entry.ref for entry in then.history)),)
        plan = await restores.plan_rewind(turn) if files else None
        if plan is not None:
            consent = Consent(overwrite=plan.by_others) if force else Consent(keep=True)
            restored = await restores.restore(plan, consent, *facts)
        else:
            await recorder.record(*facts)
        if conversation:
            await _align_checkpoints(store, paths, recorder)
        events = await asyncio.to_thread(_events_after, store, session_id, seq)
        return StoredRewind(events, restored or (Restored(()) if files else None), note)


async def _align_checkpoints(store: Store, paths: Paths, recorder: Recorder) -> None:
    synced = SyncedFiles(paths, store.sync.files)
    await asyncio.to_thread(synced.refresh_session, recorder.session_id)
    await CompactionFiles(recorder, synced.checkpoints(recorder.session_id), None).align()


async def complete_restores(store: Store, paths: Paths, environ: Mapping[str, str], folder: Path) -> str:
    """Complete what killed sessions were restoring in this folder; returns what became of it, or an empty text."""
    return " ".join(
        [
            await _completed(store, paths, environ, folder, session_id)
            for session_id in await asyncio.to_thread(cut_off_restores, paths, folder)
        ]
    )


async def _completed(store: Store, paths: Paths, environ: Mapping[str, str], folder: Path, session_id: str) -> str:
    try:
        async with claimed(store, session_id):
            state = await asyncio.to_thread(_stored_state, store, session_id)
            if not state.started:
                return ""
            recorder = Recorder(session_id, store.writing(), state)
            return await _restores(recorder, paths, str(folder), environ).recover()
    except StoreError:  # it is open elsewhere, or deleted
        return ""


def _restores(recorder: Recorder, paths: Paths, folder: str, environ: Mapping[str, str]) -> FileRestores:
    folders = folders_of_log(folder, recorder.state.folders)
    return FileRestores(SessionFiles(recorder, local_snapshots(paths, recorder.session_id, folders, environ)))


def _stored_state(store: Store, session_id: str, upto: int | None = None) -> SessionState:
    with store.reading() as reading:
        return replay(reading.events(session_id, upto=upto))


def _events_after(store: Store, session_id: str, seq: int) -> list[Event]:
    with store.reading() as reading:
        return list(reading.events(session_id, after=seq))
