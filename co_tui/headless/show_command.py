"""`co-tui sessions` and `show`: reading what is stored, without loading any model."""

from datetime import datetime

from co_tui.events.stored_messages import pieces
from co_tui.headless.output import DONE, CommandContext, put, put_json, say, table
from co_tui.inert import inert
from co_tui.session.event_wording import cost_text
from co_tui.session.state.derive import replay
from co_tui.session.state.session_state import Entry, SessionState
from co_tui.store.port import Reading
from co_tui.store.store_errors import SessionBusy, StoreError
from co_tui.store.stored_values import SessionRow

_HEADINGS = {
    "user": "You",
    "assistant": "co-tui",
    "thinking": "Thinking",
    "tool_call": "Tool call",
    "tool_result": "Tool result",
    "system": "System",
    "attached": "Attached",
    "command": "You ran",
}


def sessions(context: CommandContext, *, search: str, limit: int, as_json: bool, in_trash: bool = False) -> int:
    """List the newest sessions."""
    with context.store.reading() as reading:
        rows = reading.sessions(limit=limit, search=search, in_trash=in_trash)
        if as_json:
            for row in rows:
                put_json({**row.as_json(), **(_match(reading, row.id, search) if search else {})})
            return DONE
    if rows:
        put(table(("ID", "UPDATED", "MESSAGES", "CONTEXT", "COST", "TITLE"), map(_cells, rows)))
    elif search:
        say(f"No session{' in the trash' if in_trash else ''} holds {search!r}.")
    else:
        say("The trash is empty." if in_trash else "No sessions yet. `co-tui run -p …` starts one.")
    return DONE


def _match(reading: Reading, session_id: str, search: str) -> dict[str, object]:
    """The newest message of a session that holds the words; nothing when only its title does."""
    hits = reading.search(search, session_id=session_id, limit=1).hits
    if not hits:
        return {}
    hit = hits[0]
    snippet = {"text": hit.snippet.text, "places": hit.snippet.places}
    return {"match": {"seq": hit.seq, "role": hit.role, "tool": hit.tool, **snippet}}


def _cells(row: SessionRow) -> tuple[str, ...]:
    updated = datetime.fromisoformat(row.updated).astimezone()
    share = f"{row.share:.0%}" if row.share is not None else "–"
    cost = cost_text(row.known_cost, model=row.model) if row.tokens else "–"
    return row.id, f"{updated:%Y-%m-%d %H:%M}", str(row.messages), share, cost, row.title or "(no prompt yet)"


def show(context: CommandContext, name: str, *, history: bool, as_json: bool) -> int:
    """Print a session: all that was said, or what the model would see now."""
    state = load_state(context, name)
    entries = state.history if history else state.transcript
    if as_json:
        for entry in entries:
            put_json({"seq": entry.seq, "turn": entry.turn, "message": entry.message})
    else:
        for entry in entries:
            put(_prose(entry))
    return DONE


def _prose(entry: Entry) -> str:
    blocks = []
    for role, text, part in pieces(entry.message):
        name = part.get("tool_name")
        heading = f"{_HEADINGS[role]} {name}" if name else _HEADINGS[role]
        mark = "  (interrupted)" if entry.interrupted else ""
        blocks.append(f"── {inert(heading)}{mark}\n{inert(text)}\n")
    return "\n".join(blocks)


def load_state(context: CommandContext, name: str) -> SessionState:
    """A stored session's state; a reply that a crash cut short is brought into the log first."""
    with context.store.reading() as reading:
        row = reading.session(name)
        if reading.half_reply(row.id):
            _recover(context, row.id)
        return replay(reading.events(row.id))


def _recover(context: CommandContext, session_id: str) -> None:
    try:
        with context.store.claim(session_id):
            context.store.writing().recover(session_id).result()
    except SessionBusy:
        return  # not cut short: its owner is alive and still writing
    except StoreError as error:
        say(f"The unfinished reply could not be saved: {error}")
