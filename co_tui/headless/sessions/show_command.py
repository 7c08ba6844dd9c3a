"""`co-tui show`: print a stored session, without loading any model."""

from co_tui.events import Json
from co_tui.events.stored_messages import REPLACES, Role, pieces
from co_tui.events.tool_calls import tool_label
from co_tui.events.tool_wording import argument_lines
from co_tui.headless.output import DONE, CommandContext, put, put_json, say
from co_tui.headless.sessions.stored_rows import refresh, say_unpushed, stored_row
from co_tui.inert import inert
from co_tui.session.state.derive import replay
from co_tui.session.state.history_edits import said
from co_tui.session.state.session_state import Entry, SessionState
from co_tui.store.store_errors import SessionBusy, StoreError

_HEADINGS = {
    "user": "You",
    "assistant": "co-tui",
    "thinking": "Thinking",
    "tool_call": "Tool call",
    "tool_result": "Tool result",
    "system": "System",
    "attached": "Attached",
    "command": "You ran",
    "note": "Note",
}
_REPLACING = {True: "Summary", False: "In progress"}
"""What replaces messages, and what is shown with it."""


def show(context: CommandContext, name: str, *, history: bool, as_json: bool) -> int:
    """Print a session: all that was said, or what the model would see now."""
    state = load_state(context, name)
    entries = list(state.history) if history else said(state)
    if as_json:
        for entry in entries:
            put_json({"seq": entry.seq, "turn": entry.turn, "message": entry.message})
    else:
        for entry in entries:
            put(_prose(entry))
    say_unpushed(context)
    return DONE


def _prose(entry: Entry) -> str:
    blocks = []
    replaces = (entry.message.get("metadata") or {}).get(REPLACES)
    for role, text, part in pieces(entry.message):
        mark = "  (interrupted)" if entry.interrupted else ""
        heading = _heading(role, part) if replaces is None else _REPLACING[bool(replaces)]
        by = f"{entry.agent}: " if entry.agent else ""
        blocks.append(f"── {inert(by + heading)}{mark}\n{inert(_text(role, text))}\n")
    return "\n".join(blocks)


def _heading(role: Role, part: Json) -> str:
    """Who said it, or the tool: `run` for a call, `run: result` for its result."""
    tool = part.get("tool_name")
    if not isinstance(tool, str) or not tool:
        return _HEADINGS[role]
    return tool_label(tool) + (": result" if role == "tool_result" else "")


def _text(role: Role, text: str) -> str:
    return argument_lines(text) if role == "tool_call" else text


def load_state(context: CommandContext, name: str) -> SessionState:
    """A stored session's state, with what a server has of it; a reply that a crash cut short is brought into the log
    first."""
    row = stored_row(name, context)
    refresh(context, row.id)
    with context.store.reading() as reading:
        if reading.partial_reply(row.id):
            _recover(context, row.id)
        return replay(reading.events(row.id))


def _recover(context: CommandContext, session_id: str) -> None:
    try:
        with context.store.claim(session_id):
            context.store.writing().recover(session_id).result()
    except SessionBusy:
        return  # not cut short: its owner is alive and still writing
    except StoreError as error:
        say(f"Cannot save the partial reply: {error}")
