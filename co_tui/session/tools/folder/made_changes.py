"""Keeps the diff of each file change with the result of its call, against what was on disk just before."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ToolReturn

from co_tui.events.file_diff import DIFF
from co_tui.events.storable import storable_text
from co_tui.session.tools.folder.diff_text import diff_text

CHANGES_TEXT: Final = ("write_file", "edit_file", "edit_files")


class MadeChange(NamedTuple):
    """A file before and after a call; None where there was none."""

    before: bytes | None
    after: bytes | None
    path: str = ""
    """In the folder."""


MADE: ContextVar[list[MadeChange] | None] = ContextVar("the changes of the current call", default=None)


async def with_diff(tool: str, arguments: Mapping[str, Any], run: Callable[[], Awaitable[Any]]) -> Any:
    """Run a call; the result of one that changes a file carries the diff as metadata, which no model sees."""
    if tool not in CHANGES_TEXT:
        return await run()
    made: list[MadeChange] = []
    token = MADE.set(made)
    try:
        result = await run()
    finally:
        MADE.reset(token)
    if not made or not isinstance(result, str):
        return result
    diff = await asyncio.to_thread(_diffs if tool == "edit_files" else _diff, made, str(arguments.get("path", "")))
    return ToolReturn(return_value=result, metadata={DIFF: storable_text(diff)})


def _diff(made: Sequence[MadeChange], path: str) -> str:
    return diff_text(made[-1].before, made[-1].after or b"", path) or f"No changes to {path}"


def _diffs(made: Sequence[MadeChange], _: str) -> str:
    """The diffs of several files, by path."""
    ordered = sorted(made, key=lambda each: each.path)
    diffs = [diff_text(each.before, each.after or b"", each.path) for each in ordered]
    return "\n".join(filter(None, diffs)) or "No changes"
