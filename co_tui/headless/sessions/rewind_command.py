"""`co-tui rewind`: a session back to before a turn, with or without its files."""

import asyncio
from collections.abc import Mapping

from co_tui.events.event import encode
from co_tui.headless.output import DONE, FAILED, CommandContext, put_json, say
from co_tui.session.history.stored_rewind import StoredRewind, rewind_stored
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
    as_json: bool,
) -> int:
    """Returns the exit code. Files that others changed since are named, and then nothing is changed."""
    try:
        done = asyncio.run(
            rewind_stored(
                context.store, context.paths, environ, session_id, turn, conversation=conversation, files=files
            )
        )
    except NothingToUndo as nothing:
        say(str(nothing))
        return FAILED
    except RestoreRefused as refused:
        say(_refusal(refused))
        return FAILED
    for event in done.events if as_json else ():
        put_json(encode(event))
    say(" ".join(filter(None, (done.note, _sentence(done, turn, conversation=conversation)))))
    return DONE if done.restored is None or not done.restored.failed else FAILED


def _refusal(refused: RestoreRefused) -> str:
    fix = " Open the session and use /rewind to decide about them." if refused.by_others else ""
    return f"{refused}{fix}"


def _sentence(done: StoredRewind, turn: int, *, conversation: bool) -> str:
    rewound = f"Rewound to before turn {turn}." if conversation else ""
    return " ".join(filter(None, (rewound, done.restored.sentence() if done.restored is not None else "")))
