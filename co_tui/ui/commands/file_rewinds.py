"""Bring files back for `/rewind` and `/undo`, and ask before others' changes are overwritten."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from co_tui.ui.commands.host import CommandHost

if TYPE_CHECKING:
    from co_tui.session.session import Session
    from co_tui.session.snapshots.file_restores import Consent
    from co_tui.session.snapshots.journal import Line

WHATS = {"both": "b", "conversation": "c", "files": "f"}
"""What `/rewind` can bring back, and the key of that choice."""


async def rewind_to(host: CommandHost, session: "Session", turn: int, what: str = "") -> None:
    """Go back to before a turn: the conversation, and if files changed since, what the user chooses."""
    from co_tui.session.snapshots.file_restores import RestoreRefused
    from co_tui.session.state.history_edits import NothingToUndo

    try:
        chosen = WHATS.get(what) or await _chosen_what(host, session, turn)
        if chosen == "c":
            host.sessions.sender.give_back(await session.edits.rewind(turn))
            host.say(f"Rewound to before turn {turn}. /undo goes back.")
        elif chosen:
            await _rewind_files(host, session, turn, conversation=chosen == "b")
    except (NothingToUndo, RestoreRefused) as refused:
        host.say(str(refused))


async def _chosen_what(host: CommandHost, session: "Session", turn: int) -> str:
    """The key of the choice; the conversation if no file changed since, or none can be restored."""
    from co_tui.session.snapshots.file_restores import RestoreRefused
    from co_tui.ui.files.choice_screen import CONVERSATION, rewind_question

    try:
        plan = await session.edits.restores.plan_rewind(turn)
    except RestoreRefused:
        return CONVERSATION
    if plan is None or not plan.changed:
        return CONVERSATION
    return await host.ask(lambda: rewind_question(plan)) or ""


async def _rewind_files(host: CommandHost, session: "Session", turn: int, *, conversation: bool) -> None:
    async def rewind(consent: "Consent") -> None:
        rewound = await session.edits.rewind_files(turn, consent, conversation=conversation)
        if conversation:
            host.sessions.sender.give_back(rewound.prompt)
        done = f"Rewound to before turn {turn}. " if conversation else ""
        host.say(f"{done}{rewound.restored.sentence()} /undo goes back.")

    await _asking(host, rewind)


async def undo_restore(host: CommandHost, session: "Session", restore: "Line") -> None:
    """Undo a restore of files, and the rewind that came with it."""

    async def undo(consent: "Consent") -> None:
        restored = await session.edits.undo_restore(restore, consent)
        both = "rewind" if restore.rewind else "restore"
        host.say(f"Undone: {both}. {restored.sentence()}")

    await _asking(host, undo, undoes=True)


async def _asking(host: CommandHost, work: "Callable[[Consent], Awaitable[None]]", *, undoes: bool = False) -> None:
    """Do the work; if others changed files, ask about them and try again. Raises `RestoreRefused` for other reasons."""
    from co_tui.session.snapshots.file_restores import Consent, RestoreRefused
    from co_tui.ui.files.choice_screen import KEEP, overwrite_question

    consent = Consent()
    while True:
        try:
            return await work(consent)
        except RestoreRefused as refused:
            if not (by_others := refused.by_others):
                raise
        answer = await host.ask(partial(overwrite_question, by_others, undoes=undoes))
        if not answer:
            host.say("Nothing was restored.")
            return None
        consent = Consent(keep=True) if answer == KEEP else Consent(overwrite=by_others)
