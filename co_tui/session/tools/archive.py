"""Large tool results replaced by references: the log has them in full, or a file, and the model can open them again."""

import asyncio
import io
import re
from collections.abc import Callable
from typing import BinaryIO

from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ToolReturnPart

from co_tui.events import ArtifactStored
from co_tui.events.content import content_text
from co_tui.session.recorder import Recorder
from co_tui.session.state.parsed_messages import ParsedMessages
from co_tui.session.tools.artifact_parts import lines_of, matching_lines, page_of
from co_tui.session.tools.kept_output import KeptOutputs
from co_tui.session.turns.current_agent import CURRENT_AGENT

SHOWN_CHARS = 300


class Archive:
    """A session's archived results. Nothing is stored twice: a reference names a part of a logged message, or a file
    with the output of a command."""

    def __init__(self, recorder: Recorder, history: ParsedMessages, outputs: KeptOutputs) -> None:
        self._recorder = recorder
        self._outputs = outputs
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

    async def read_artifact(self, reference: str, page: int = 1, pattern: str = "", line: int = 0) -> str:
        """Open an archived tool result, or the output of a command that was too long for its result.

        Args:
            reference: The name of the archived result.
            page: Which page of it, from 1 up.
            pattern: Only lines that hold this text (or match it as a regular expression), with their numbers.
            line: Start at this line instead of a page.
        """
        reference = reference.strip()
        try:
            return await asyncio.to_thread(self._read, self._opener(reference), page, pattern, line)
        except ValueError as problem:
            raise ModelRetry(f"{reference}: {problem}") from None
        except OSError as error:
            raise ModelRetry(f"{reference} cannot be read: {error.strerror or error}.") from None

    def _read(self, opened: Callable[[], BinaryIO], page: int, pattern: str, line: int) -> str:
        with opened() as stream:
            if pattern:
                return matching_lines(stream, pattern, max(1, line))
            return lines_of(stream, line) if line > 0 else page_of(stream, page)

    def _opener(self, reference: str) -> Callable[[], BinaryIO]:
        if (file := self._outputs.find(reference)) is not None:
            return lambda: file.open("rb")
        text = self._text(reference)
        return lambda: io.BytesIO(text.encode(errors="replace"))

    def _text(self, reference: str) -> str:
        found = re.fullmatch(r"artifact-(\d+)-(\d+)-(\d+)", reference)
        entry = self._recorder.state.entry((int(found[1]), int(found[2]))) if found else None
        own = entry is not None and entry.agent == CURRENT_AGENT.get()  # agents cannot open each other's results
        parts = entry.message.get("parts", []) if entry is not None and own else []
        if not found or int(found[3]) >= len(parts):
            away = " Output over 10 MiB is only on the machine that printed it." if reference[:7] == "output-" else ""
            raise ModelRetry(f"No artifact {reference!r}.{away}")
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
