"""Background commands that a stored conversation takes for running, although they ended with the process before."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from co_tui.events import BackgroundNews, Clear, SessionFork
from co_tui.events.stored_messages import note_source, parts_in, pieces
from co_tui.events.tool_wording import MOVED_TO_BACKGROUND, arguments_of
from co_tui.inert import one_line
from co_tui.session.state.history_edits import lived_through
from co_tui.session.state.session_state import Entry, SessionState, seq_of
from co_tui.session.tools.command_watch import COMMAND_CHARS

SOURCE: Final = "a background command"
"""Where notes about background commands come from."""
CLOSED: Final = "ended when the session was closed, if not before"
FORKED: Final = "stayed in the session that this one was forked from"
FINISHED: Final = "[status: finished]"
STARTED: Final = re.compile(r"^ID: ([0-9a-f]{32})$", re.MULTILINE)
_NOTED: Final = re.compile(r"\(ID ([0-9a-f]{32})\)")


class LeftCommand(NamedTuple):
    id: str
    command: str
    outcome: str
    is_logged: bool
    """Whether the log already says how it ended."""

    @property
    def for_model(self) -> str:
        """What the model has to know."""
        outcome = f"{self.outcome[0].upper()}{self.outcome[1:]}"
        return f"{outcome}: `{self.command}` (ID {self.id}).\ncheck_command and stop_command do not find it any more."


def left_commands(state: SessionState) -> Iterator[LeftCommand]:
    """Those of which the model does not know that they ended; for a session that was just opened again."""
    events = list(state.timeline)
    ends = {fact.command_id: fact.outcome for each in events if isinstance(fact := each.fact, BackgroundNews)}
    forked = max((seq_of(each) for each in events if isinstance(each.fact, SessionFork)), default=0)
    for command_id, (command, seq) in _believed_running(state).items():
        outcome = ends.get(command_id, FORKED if seq < forked else CLOSED)
        yield LeftCommand(command_id, one_line(command, COMMAND_CHARS), outcome, command_id in ends)


def _believed_running(state: SessionState) -> dict[str, tuple[str, int]]:
    """Each id, with the command line and where in the log it started."""
    running: dict[str, tuple[str, int]] = {}
    calls: dict[str, str] = {}
    for entry in _known_messages(state):
        is_note = note_source(entry.message) == SOURCE
        for role, text, part in pieces(entry.message):
            tool, call = str(part.get("tool_name")), str(part.get("tool_call_id"))
            if role == "tool_call" and tool.endswith("_command"):
                given = part.get("args")
                values = arguments_of(given) if isinstance(given, str) else given or {}
                calls[call] = str(values.get("command") or values.get("command_id"))
            elif role == "tool_result" and (found := _started(tool, text)):
                running[found] = calls.get(call, ""), entry.seq
            elif role == "tool_result" and _is_end(tool, text):
                running.pop(calls.get(call, ""), None)
            elif is_note and (noted := _NOTED.search(text)) and "\nPrinted “" not in text[: noted.start()]:
                running.pop(noted[1], None)
    return running


def _known_messages(state: SessionState) -> Iterator[Entry]:
    """Those about commands that the model saw, or that a summary tells it about: neither rewound nor cleared."""
    lived, present = lived_through(state.jumps), {entry.ref for entry in state.history}
    cleared = max((each.seq for each in state.rewrites if isinstance(each.event.fact, Clear)), default=0)
    for entry in state.transcript:
        is_known = entry.ref in present or (entry.seq > cleared and not entry.agent and lived.includes(entry.seq))
        if is_known and (note_source(entry.message) == SOURCE or _names_command_tool(entry)):
            yield entry


def _names_command_tool(entry: Entry) -> bool:
    return any(str(part.get("tool_name", "")).endswith("_command") for part in parts_in(entry.message))


def _started(tool: str, result: str) -> str:
    """The id of the command that a call left running."""
    is_start = tool == "start_command" or (tool == "run_command" and result.startswith(f"[{MOVED_TO_BACKGROUND}"))
    found = STARTED.search(result) if is_start else None
    return found[1] if found else ""


def _is_end(tool: str, result: str) -> bool:
    return tool == "stop_command" or (tool == "check_command" and FINISHED in result)
