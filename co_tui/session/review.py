"""What `/review` sends to the model: the changes of the session, or else of the branch."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from co_tui.events import Event, Message
from co_tui.events.file_diff import diff_in, is_diff
from co_tui.events.stored_messages import pieces
from co_tui.session.environment import Environment
from co_tui.session.file_references import NamedFile
from co_tui.session.workplace.workplace import Workplace
from co_tui.settings import Settings
from co_tui.settings.permission_rules import READ

REVIEW: Final = (
    "Review these changes like a careful colleague. Read the code around them where you need to. Report real problems "
    "only, the most serious first: bugs, security holes, lost data, missing tests, misleading names. Give the file and "
    "line of each, why it matters and how to fix it. If you find none, say so. Do not change anything."
)


class Review(NamedTuple):
    """The prompt for a review, and the changes that go with it."""

    prompt: str
    changes: NamedFile


async def review_of(environment: Environment, session_id: str, settings: Settings, focus: str = "") -> Review:
    """A review of a session's own edits, or of the branch if it has none. Raises `ReviewRefused`."""

    def read() -> Review:
        with environment.store.reading() as reading:
            own = session_review(reading.events(session_id), focus)
        return own or branch_review(environment.workplace, environment.environ, settings, focus)

    return await asyncio.to_thread(read)


def session_review(events: Iterable[Event], focus: str = "") -> Review | None:
    """A review of the edits that a session's log has, in order; None if there are none."""
    diffs = [diff for event in events for diff in _diffs(event) if is_diff(diff)]
    return _review("the edits of this session, in order", "\n\n".join(diffs), focus) if diffs else None


def _diffs(event: Event) -> Iterable[str]:
    if isinstance(event.fact, Message):
        for role, _, part in pieces(event.fact.message):
            if role == "tool_result":
                yield diff_in(part)


def branch_review(workplace: Workplace, environ: Mapping[str, str], settings: Settings, focus: str = "") -> Review:
    """A review of the branch's commits and of what is not committed yet, without files that the settings hide.

    Slow: call it in a thread. Raises `ReviewRefused`.
    """
    hides = [each for each in settings.permissions if each.effect != "allow" and each.rule.tool == READ]
    since, text = workplace.branch_changes(environ, hides)
    return _review(f"all changes since {since}", text, focus)


def _review(what: str, changes: str, focus: str) -> Review:
    prompt = f"{REVIEW} Focus on: {focus.strip()}" if focus.strip() else REVIEW
    return Review(prompt, NamedFile(Path(), what, changes.encode(errors="replace"), "diff"))
