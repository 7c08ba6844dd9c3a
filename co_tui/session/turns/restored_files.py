"""The note that tells the model which files went back, with the first request after that."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from pydantic_ai.messages import ModelRequest

from co_tui.events import Event, FilesRestored, stored_messages
from co_tui.inert import one_line
from co_tui.session.pending_notes import note_message
from co_tui.session.state.history_edits import is_rewound
from co_tui.session.state.session_state import SessionState, seq_of

MOST_NAMED: Final = 50
_PATH_CHARS: Final = 200
NOTE: Final = (
    "The user restored earlier versions of these files in the working folder: {}. Your later changes to them are gone; "
    "read a file again before you rely on what you know about it."
)
UNDONE: Final = (
    "The user undid an earlier restore of these files in the working folder: {}. They are again as before it; "
    "read a file again before you rely on what you know about it."
)


def restored_note(state: SessionState) -> ModelRequest | None:
    """What the model has to know about restored files; None if it knows all."""
    events = list(_unknown_restores(state))
    if not events:
        return None
    is_before = {path: path in fact.as_before for _, fact in events for path in fact.paths}
    is_undone = {path: bool(fact.undoes) for _, fact in events for path in fact.paths}
    about = {
        "folder": state.cwd,
        "events": [seq_of(event) for event, _ in events],
        "as_before": [path for path, before in is_before.items() if before],
        "changed": [path for path, before in is_before.items() if not before],
    }
    parts = ((NOTE, False), (UNDONE, True))
    named = ((text, [path for path, undone in is_undone.items() if undone is which]) for text, which in parts)
    text = "\n".join(text.format(_named(paths)) for text, paths in named if paths)
    return note_message("co-tui", text, **{stored_messages.RESTORED: about})


def _unknown_restores(state: SessionState) -> Iterator[tuple[Event, FilesRestored]]:
    """The restores that no note in the conversation is about, without those that were undone before there was one."""
    restores = [(event, event.fact) for event in state.restores if isinstance(event.fact, FilesRestored)]
    known = _known_restores(state, since=seq_of(restores[0][0])) if restores else set()
    unknown = [each for each in restores if seq_of(each[0]) not in known]
    undone = {fact.undoes for _, fact in unknown if fact.undoes} & {seq_of(event) for event, _ in unknown}
    return (each for each in unknown if seq_of(each[0]) not in undone and each[1].undoes not in undone)


def _known_restores(state: SessionState, since: int) -> set[int]:
    """The events that notes since then are about, other than notes that were rewound."""
    known: set[int] = set()
    for entry in takewhile(lambda entry: entry.seq > since, reversed(state.transcript)):
        match entry.message.get("metadata"):
            case {stored_messages.RESTORED: {"events": [*events]}} if not is_rewound(state, entry.seq):
                known.update(events)
    return known


def _named(paths: Sequence[str]) -> str:
    listed = ", ".join(one_line(path, _PATH_CHARS) for path in paths[:MOST_NAMED])
    more = len(paths) - MOST_NAMED
    return f"{listed} and {more:,} more" if more > 0 else listed
