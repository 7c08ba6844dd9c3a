"""One line at the right moment about a key; gone with the next prompt, and for good once the key was used."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.events import ApprovalDecided, CompactionComplete, Event, Message, SessionInterrupted
from co_tui.session.approvals.questions import USER
from co_tui.store.learned_numbers import LearnedNumbers
from co_tui.ui.background import run_thread
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.keys.command_table import way_to
from co_tui.ui.transcript.block import Block

MOST_TIMES: Final = 3
"""After so many times unheeded it is not said again."""
HEEDED: Final = 99.0


class Hint(NamedTuple):
    """What is said, and the commands that show it is known."""

    name: str
    text: str
    """`{command}` stands for the way to it."""
    known_by: frozenset[str]


SIDE = Hint("side", "{side} shows how full the context is, and what has happened.", frozenset({"side"}))
FOLDS = Hint(
    "folds",
    "{folds} opens what the tools did; Tab, then {next_fold} and {open_fold}, one of them.",
    frozenset({"folds"}),
)
COMPACTED = Hint(
    "compacted",
    "Nothing is lost: {timeline}, then Enter on ◆, opens what was replaced.",
    frozenset({"timeline", "undo"}),
)
STOPPED = Hint(
    "stopped", "{continue} goes on where the turn stopped; or write what should be different.", frozenset({"continue"})
)
MODE = Hint("mode", "{next_mode} switches the mode: in edits, files change without asking.", frozenset({"mode"}))
ALL: Final = (SIDE, FOLDS, COMPACTED, STOPPED, MODE)
_NAMED: Final = ("side", "folds", "next_fold", "open_fold", "timeline", "continue", "next_mode")


class Hints:
    """Keeps count in the state folder; what cannot be kept is said again."""

    def __init__(self, chat: ChatScreen, file: Path, chosen: Callable[[], Mapping[str, str]]) -> None:
        """`chosen` gives the keys that the user chose."""
        self._chat = chat
        self._times = LearnedNumbers(file)
        self._chosen = chosen
        self._said: set[Hint] = set()
        """Since the start; each once."""
        self._known: set[Hint] = set()
        self._shown: tuple[Hint, Block] | None = None
        self._used_tools = False
        """In this turn."""
        self._was_asked = False
        """Whether the user has answered a question about a call."""

    def on_event(self, event: Event) -> None:
        match event.fact:
            case Message(agent="", message={"kind": "request", "parts": parts}) if _has(parts, "user-prompt"):
                self._take_away()
                self._used_tools = False
            case Message(agent="", message={"kind": "response", "parts": parts}) if _has(parts, "tool-call"):
                self._used_tools = True
            case Message(agent="", message={"kind": "response"}):
                if self._used_tools:
                    self._say(FOLDS)
                elif self._chat.has_class("-narrow"):
                    self._say(SIDE)
                if self._was_asked:
                    self._say(MODE)
            case ApprovalDecided(by=by) if by == USER:
                self._was_asked = True
            case CompactionComplete(success=True):
                self._say(COMPACTED)
            case SessionInterrupted(agent=""):
                self._say(STOPPED)

    def used(self, command: str) -> None:
        """Somebody who has found it needs no hint, and no longer the one that is shown."""
        if self._shown is not None and command in self._shown[0].known_by:
            self._take_away()
        for hint in ALL:
            if command in hint.known_by and hint not in self._known:
                self._known.add(hint)
                self._keep(hint, HEEDED)

    def _say(self, hint: Hint) -> None:
        times = self._times.get(hint.name) or 0.0
        if hint in self._said | self._known or self._shown is not None or times >= MOST_TIMES:
            return
        self._said.add(hint)
        self._keep(hint, times + 1)
        self._shown = (hint, self._chat.feed.note(self._told(hint)))

    def _told(self, hint: Hint) -> str:
        ways = {name: way_to(name, self._chosen()) for name in _NAMED}
        return hint.text.format(**ways)

    def _keep(self, hint: Hint, times: float) -> None:
        # Writing a file for good takes as long as the disk does.
        run_thread(self._chat, "Saving a hint", lambda: self._times.put(hint.name, times), group="hints")

    def _take_away(self) -> None:
        shown, self._shown = self._shown, None
        if shown is not None:
            self._chat.feed.drop(shown[1])


def _has(parts: Iterable[Mapping[str, Any]], kind: str) -> bool:
    return any(part.get("part_kind") == kind for part in parts)
