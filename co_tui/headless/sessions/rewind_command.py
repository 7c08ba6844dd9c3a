"""`co-tui rewind`: a session back to before a turn, with or without its files."""

import asyncio
from collections.abc import Mapping

from co_tui.events.event import encode
from co_tui.headless.output import DONE, FAILED, CommandContext, put_json, say
from co_tui.session.history.stored_rewind import StoredRewind, rewind_stored
from co_tui.session.snapshots.entries import shown_path
from co_tui.session.snapshots.file_restores import RestoreRefused
from co_tui.session.state.history_edits import NothingToUndo


def rewind(
    context: CommandContext,
    session_id: str,
    turn: int,
    environ: Mapping[str, str],
    *,
    conversation: bool,
    files: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Returns the exit code. Files that others changed since are named and left as they are, unless `force`."""
    try:
        done = asyncio.run(
            rewind_stored(
                context.store,
                context.paths,
                environ,
                session_id,
                turn,
                conversation=conversation,
                files=files,
                force=force,
            )
        )
    except (NothingToUndo, RestoreRefused) as refused:
        say(str(refused))
        return FAILED
    if as_json:
        _put(done)
    say(" ".join(filter(None, (done.note, _sentence(done, turn, conversation=conversation)))))
    return DONE if done.restored is None or not done.restored.failed else FAILED


def _put(done: StoredRewind) -> None:
    """The events as logged; then, with files, what became of each."""
    for event in done.events:
        put_json(encode(event))
    if (restored := done.restored) is not None:
        listed = {name: getattr(restored, name) for name in ("kept", "failed", "not_covered")}
        paths = {name: list(map(shown_path, each)) for name, each in {"restored": restored.done, **listed}.items()}
        put_json({**paths, "commits": list(restored.commits)})


def _sentence(done: StoredRewind, turn: int, *, conversation: bool) -> str:
    rewound = f"Rewound to before turn {turn}." if conversation else ""
    return " ".join(filter(None, (rewound, done.restored.sentence() if done.restored is not None else "")))
