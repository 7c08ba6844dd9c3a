"""`co-tui compact`: make a stored session's context smaller, without a screen."""

from collections.abc import Sequence

from co_tui.events import Event
from co_tui.headless.open_session import SessionOpening, in_session
from co_tui.headless.output import DONE, FAILED, INTERRUPTED, say
from co_tui.headless.printing import Output, PrintedPiece, as_json
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.session import Session


def compact(opening: SessionOpening, *, focus: str, deep: bool, json: bool) -> int:
    """Returns the exit code; the outcome is reported in a sentence, or as events."""

    async def work(session: Session, _: Output) -> int:
        try:
            done = await session.compact(focus, deep=deep)
        except CompactionRefused as refused:
            say(str(refused))
            return FAILED
        if not json:
            where = f" Checkpoint {done.checkpoint_number}: {done.checkpoint_path}" if done.checkpoint_path else ""
            say(done.outcome_sentence() + where)
        if done.cancelled:
            return INTERRUPTED
        return DONE if done.success else FAILED

    return in_session(opening, work, as_json if json else _silent, "compact")


def _silent(_: Event) -> Sequence[PrintedPiece]:
    """For people the result is one sentence, at the end."""
    return ()
