"""Large tool results replaced by references: the log has them in full, and the model can open them again."""

import re

from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ToolReturnPart

from co_tui.events import ArtifactStored
from co_tui.events.content import content_text
from co_tui.session.recorder import Recorder
from co_tui.session.state.parsed_messages import ParsedMessages
from co_tui.session.turns.current_agent import CURRENT_AGENT

PAGE_CHARS = 4_000
SHOWN_CHARS = 300
MAX_MATCHES = 40


class Archive:
    """A session's archived results. Nothing is stored twice: a reference names a part of a logged message."""

    def __init__(self, recorder: Recorder, history: ParsedMessages) -> None:
        self._recorder = recorder
        self._history = history
        self._known: set[str] = set()
        self._new: list[ArtifactStored] = []
        """Archived since the last request, to be logged."""

    def keep(self, part: ToolReturnPart, text: str) -> str:
        """The text with the reference that replaces a result."""
        reference = reference_of(self._history, part)
        if reference and reference not in self._known:
            self._known.add(reference)
            what = f"{part.tool_name}: {len(text)} characters"
            self._new.append(ArtifactStored(what=what, where=reference, outcome="replaced by a reference"))
        return archived(self._history, part, text)

    async def log_new(self) -> None:
        """Log what was archived since the last request."""
        if self._new:
            stored, self._new = self._new, []
            await self._recorder.record(*stored)

    async def read_artifact(self, reference: str, page: int = 1, pattern: str = "") -> str:
        """Open an archived tool result again.

        Args:
            reference: The name of the archived result.
            page: Which page of it, from 1 up.
            pattern: Only lines that hold this text (or match it as a regular expression).
        """
        text = self._text(reference)
        if pattern:
            return _matching(text, pattern)
        pages = max(1, -(-len(text) // PAGE_CHARS))
        if not 1 <= page <= pages:
            raise ModelRetry(f"{reference} has pages 1 to {pages}.")
        return f"[page {page} of {pages}]\n{text[(page - 1) * PAGE_CHARS : page * PAGE_CHARS]}"

    def _text(self, reference: str) -> str:
        found = re.fullmatch(r"artifact-(\d+)-(\d+)-(\d+)", reference.strip())
        entry = self._recorder.state.entry((int(found[1]), int(found[2]))) if found else None
        own = entry is not None and entry.agent == CURRENT_AGENT.get()  # agents cannot open each other's results
        parts = entry.message.get("parts", []) if entry is not None and own else []
        if not found or int(found[3]) >= len(parts):
            raise ModelRetry(f"No artifact {reference!r}.")
        return content_text(parts[int(found[3])].get("content", ""))


def archived(history: ParsedMessages, part: ToolReturnPart, text: str) -> str:
    """The text that replaces a logged result; others are returned unchanged."""
    reference = reference_of(history, part)
    if not reference:
        return text
    head = f"[{part.tool_name}: {len(text)} characters archived; read_artifact({reference!r}) reopens them]"
    return f"{head}\n{text[:SHOWN_CHARS]}"


def reference_of(history: ParsedMessages, part: ToolReturnPart) -> str:
    """The artifact name of a logged result; empty for others."""
    location = history.location_of(part)
    return f"artifact-{location[0]}-{location[1]}-{location[2]}" if location is not None else ""


def _matching(text: str, pattern: str) -> str:
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
    except re.error:
        compiled = re.compile(re.escape(pattern), re.IGNORECASE)
    lines = [f"{n}: {line[:400]}" for n, line in enumerate(text.splitlines(), 1) if compiled.search(line)]
    more = f"\n… {len(lines) - MAX_MATCHES} more lines match" if len(lines) > MAX_MATCHES else ""
    return "\n".join(lines[:MAX_MATCHES]) + more if lines else f"No line matches {pattern!r}."
