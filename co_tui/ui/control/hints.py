"""One-line hints about a key: removed with the next prompt, and for good once the key was used."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from co_tui.events import (
    ApprovalDecided,
    CompactionComplete,
    CompactionUndone,
    Event,
    Fact,
    Message,
    SessionResume,
)
from co_tui.events.model_names import EXAMPLE_MODEL
from co_tui.session.approvals.questions import USER
from co_tui.store.learned_numbers import LearnedNumbers
from co_tui.ui.background import run_thread
from co_tui.ui.chat.chat_screen import ChatScreen
from co_tui.ui.keys.command_table import shortcut_for
from co_tui.ui.transcript.block import Block

MOST_TIMES: Final = 1
"""How often a hint is shown at most."""
USED: Final = 99.0


class Hint(NamedTuple):
    """A sentence, and the commands whose use makes it unnecessary."""

    name: str
    text: str
    """`{command}` is replaced by its key."""
    known_by: frozenset[str]


SIDE = Hint("side", "{side} shows context usage and the timeline.", frozenset({"side"}))
FOLDS = Hint(
    "folds",
    "{folds} expands tool output.",
    frozenset({"folds"}),
)
COMPACTED = Hint(
    "compacted",
    "Nothing is lost: {timeline}, then Enter on ◆ shows what was replaced.",
    frozenset({"timeline", "undo"}),
)
MODE = Hint("mode", "{next_mode} switches the mode; in edits, files change without asking.", frozenset({"mode"}))
EXAMPLE = Hint(
    "example",
    "A recording to try things on: {compact} compacts it. Prompts go to your own model.",
    frozenset(),
)
LENS = Hint("lens", "{lens} shows the next request, message by message; {rewind} goes back further.", frozenset())
ALL: Final = (SIDE, FOLDS, COMPACTED, MODE, EXAMPLE, LENS)
_NAMED: Final = (
    "compact",
    "lens",
    "rewind",
    "side",
    "folds",
    "next_fold",
    "open_fold",
    "timeline",
    "next_mode",
)


class Hints:
    """Counts in the state folder how often each hint was shown; without a count it is shown again."""

    def __init__(self, chat: ChatScreen, file: Path, chosen: Callable[[], Mapping[str, str]]) -> None:
        """`chosen` returns the keys that the user chose."""
        self._chat = chat
        self._times = LearnedNumbers(file)
        self._chosen = chosen
        self._shown_before: set[Hint] = set()
        """Shown since the app started; each once."""
        self._known: set[Hint] = set()
        self._shown: tuple[Hint, Block] | None = None
        self._used_tools = False
        """In this turn."""
        self._was_asked = False
        """Whether the user has answered a question about a call."""

    def on_event(self, event: Event) -> None:
        match event.fact:
            case Message(agent="", message={"kind": "request", "parts": parts}) if _has(parts, "user-prompt"):
                self._remove()
                self._used_tools = False
            case Message(agent="", message={"kind": "response", "parts": parts}) if _has(parts, "tool-call"):
                self._used_tools = True
            case Message(agent="", message={"kind": "response"}):
                if self._used_tools:
                    self._show(FOLDS)
                elif self._chat.has_class("-narrow"):
                    self._show(SIDE)
                if self._was_asked:
                    self._show(MODE)
            case ApprovalDecided(by=by) if by == USER:
                self._was_asked = True
            case fact if (hint := _after(fact)) is not None:
                self._remove()
                self._show(hint)

    def used(self, command: str) -> None:
        """A command was used: remove its hint, and do not show it again."""
        if self._shown is not None and command in self._shown[0].known_by:
            self._remove()
        for hint in ALL:
            if command in hint.known_by and hint not in self._known:
                self._known.add(hint)
                self._keep(hint, USED)

    def _show(self, hint: Hint) -> None:
        times = self._times.get(hint.name) or 0.0
        if hint in self._shown_before | self._known or self._shown is not None or times >= MOST_TIMES:
            return
        self._shown_before.add(hint)
        self._keep(hint, times + 1)
        self._shown = (hint, self._chat.feed.note(self._wording(hint)))

    def _wording(self, hint: Hint) -> str:
        ways = {name: shortcut_for(name, self._chosen()) for name in _NAMED}
        return hint.text.format(**ways)

    def _keep(self, hint: Hint, times: float) -> None:
        # Syncing a file to disk is slow.
        run_thread(self._chat, "Saving a hint", lambda: self._times.put(hint.name, times), group="hints")

    def _remove(self) -> None:
        shown, self._shown = self._shown, None
        if shown is not None:
            self._chat.feed.drop(shown[1])


def _after(fact: Fact) -> Hint | None:
    """What to try after this, whatever came before it."""
    match fact:
        case CompactionComplete(success=True):
            return COMPACTED
        case CompactionUndone():
            return LENS
        case SessionResume(model=model) if model == EXAMPLE_MODEL:
            return EXAMPLE
    return None


def _has(parts: Iterable[Mapping[str, Any]], kind: str) -> bool:
    return any(part.get("part_kind") == kind for part in parts)
