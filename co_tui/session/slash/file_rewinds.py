"""Bring files back for `/rewind` and `/undo`, and ask before others' changes are overwritten."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from co_tui.session.slash.command_host import CommandFailed, CommandHost

if TYPE_CHECKING:
    from co_tui.session.session import Session
    from co_tui.session.snapshots.file_restores import Consent
    from co_tui.session.snapshots.journal import Line

BOTH, CONVERSATION, FILES = "both", "conversation", "files"
WHATS = (BOTH, CONVERSATION, FILES)
"""What `/rewind` can bring back."""
EDIT = "edit"
"""The same as without any of these, for a prompt that will be edited and sent again."""


async def rewind_to(host: CommandHost, session: "Session", turn: int, what: str = "") -> None:
    """Go back to before a turn: the conversation, and if files changed since, what the user chooses."""
    from co_tui.session.snapshots.file_restores import RestoreRefused
    from co_tui.session.state.history_edits import NothingToUndo

    try:
        chosen, stays = (what, "") if what in WHATS else await _chosen_what(host, session, turn, edits=what == EDIT)
        if chosen == CONVERSATION:
            host.give_back(await session.edits.rewind(turn))
            host.say(f"Rewound to before turn {turn}. {stays}/undo goes back.")
        elif chosen:
            await _rewind_files(host, session, turn, conversation=chosen == BOTH)
    except (NothingToUndo, RestoreRefused) as refused:
        raise CommandFailed(str(refused)) from None


async def _chosen_what(host: CommandHost, session: "Session", turn: int, *, edits: bool) -> tuple[str, str]:
    """What to bring back, and which commits stay. The conversation if no file changed since, or none can be
    restored."""
    from co_tui.session.snapshots.commits import commits_sentence
    from co_tui.session.snapshots.file_restores import RestoreRefused

    try:
        plan = await session.edits.restores.plan_rewind(turn)
    except RestoreRefused:
        return CONVERSATION, ""
    if plan is None:
        return CONVERSATION, ""
    stays = f"{commits_sentence(plan.commits)} " if plan.commits else ""
    return await host.choose_restored(plan, edits=edits) if plan.changes else CONVERSATION, stays


async def _rewind_files(host: CommandHost, session: "Session", turn: int, *, conversation: bool) -> None:
    async def rewind(consent: "Consent") -> None:
        rewound = await session.edits.rewind_files(turn, consent, conversation=conversation)
        if conversation:
            host.give_back(rewound.prompt)
        done = f"Rewound to before turn {turn}. " if conversation else ""
        undo_hint = " /undo goes back." if conversation or rewound.restored.done else ""
        host.say(f"{done}{rewound.restored.sentence()}{undo_hint}")

    await _asking(host, rewind)


async def undo_restore(host: CommandHost, session: "Session", restore: "Line") -> None:
    """Undo a restore of files, and the rewind that came with it."""

    async def undo(consent: "Consent") -> None:
        restored = await session.edits.undo_restore(restore, consent)
        both = "Rewind" if restore.rewind else "Restore"
        host.say(f"{both} undone. {restored.sentence()}")

    await _asking(host, undo, undoes=True)


async def _asking(host: CommandHost, work: "Callable[[Consent], Awaitable[None]]", *, undoes: bool = False) -> None:
    """Change files; if others changed some, ask about them and try again. Raises `RestoreRefused` for other reasons."""
    from co_tui.session.snapshots.file_restores import Consent, RestoreRefused

    host.require_writable()
    consent: Consent | None = Consent()
    while consent is not None:
        try:
            return await work(consent)
        except RestoreRefused as refused:
            if not (by_others := refused.by_others) or consent.keep:
                raise
        consent = await host.consent(by_others, undoes=undoes)
    host.say("Nothing was restored.")
    return None
