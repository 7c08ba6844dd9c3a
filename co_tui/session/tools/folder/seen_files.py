"""What the model last saw of each file, so that it does not overwrite what someone else changed since."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from pydantic_ai.exceptions import ModelRetry

from co_tui.session.state.history_edits import is_rewound
from co_tui.session.state.session_state import SessionState
from co_tui.session.tools.folder.diff_text import diff_text
from co_tui.session.turns.current_agent import CURRENT_AGENT

MOST_FILES: Final = 300
MOST_BYTES: Final = 200_000
"""Of a file whose content is kept; of larger ones only a hash is."""
MOST_DIFF_CHARS: Final = 4_000


class _Seen(NamedTuple):
    content: bytes
    seq: int
    """When it was seen."""


class SeenFiles:
    """One for a session. Each agent has seen its own files; what was rewound, none has."""

    def __init__(self, state: Callable[[], SessionState] = SessionState) -> None:
        self._state = state
        self._seen: OrderedDict[tuple[str, str], _Seen] = OrderedDict()

    def note(self, real: str, content: bytes | None) -> None:
        """The model has seen this content; None if there is no such file, or it cannot be read."""
        key = (CURRENT_AGENT.get(), real)
        self._seen.pop(key, None)
        if content is not None:
            self._seen[key] = _Seen(_kept(content), self._state().seq)
        while len(self._seen) > MOST_FILES:
            self._seen.popitem(last=False)

    def check(self, real: str, path: str, content: bytes | None) -> None:
        """Raise `ModelRetry` that shows what changed, once, if the model has seen another content."""
        seen = self._seen.get((CURRENT_AGENT.get(), real))
        if seen is None or content is None or seen.content == _kept(content) or is_rewound(self._state(), seen.seq):
            return
        self.note(real, content)
        raise ModelRetry(
            f"{path} changed since you last saw it. No changes were written. {_changes(seen.content, content, path)}"
        )


def _kept(content: bytes) -> bytes:
    return content if len(content) <= MOST_BYTES else b"\0" + hashlib.sha256(content).digest()


def _changes(seen: bytes, content: bytes, path: str) -> str:
    diff = diff_text(seen, content, path) if len(content) <= MOST_BYTES and seen[:1] != b"\0" else ""
    if not diff or len(diff) > MOST_DIFF_CHARS:
        return "Read it again first."
    return f"What changed:\n{diff}\nTake that into account, and try again."
