"""The border for logs from elsewhere: what they decide is taken away, what was said and done stays.

A log decides what runs without a question, in which mode, who gets the conversation, what the system prompt says, what
governs the context, and which words count as the user's or as co-tui's.
Only a log that this user wrote on this machine may. Each machine marks its decisions, so that one cannot be changed
or moved to another session.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Any, Final

from co_tui.events.event import Event
from co_tui.events.facts import BY_TYPE, Fact, Unknown
from co_tui.events.facts.agents import AgentTransfer, ApprovalDecided, ApprovalRequested
from co_tui.events.facts.base import MARK
from co_tui.events.facts.board import BoardShown
from co_tui.events.facts.context import Clear, CompactionComplete
from co_tui.events.facts.conversation import Message
from co_tui.events.facts.life import (
    FoldersChanged,
    ModeChange,
    ModelChange,
    PolicyChange,
    SessionFork,
    SessionOrigin,
    SessionResume,
    SessionStart,
    Surroundings,
)
from co_tui.events.storable import Json
from co_tui.events.stored_messages import INSTRUCTIONS, NOTE, QUOTES, RESTORED, RULES, quoted_in
from co_tui.settings.policies.policy_files import is_policy_path

PUBLIC_MODEL: Final = re.compile(r"(?!gguf:)[\w.:/+-]{0,120}")
"""Neither an address nor a file: those are places a conversation would go to."""
_SAFE_NAME: Final = re.compile(r"[\w.-]{0,80}")
ANOTHERS_LOG: Final = "another log"
"""The source of every note in a log of others: none of them is co-tui's."""
BY_BORDER: Final = "the import"
"""Who refused a question that another user's log leaves open."""

IsMarked = Callable[[Event], bool]


class Source(IntEnum):
    """Where a log comes from. Each takes away more than the one before."""

    HERE = 0
    """This machine's own database. Approvals need a mark: earlier versions took them from elsewhere."""
    OWN = 1
    """The user's own sessions in a database that others may have written to."""
    OTHERS = 2
    """Another user's session, an import, or a backup of unknown origin."""


Border = Callable[[Iterable[Event], Source], Iterable[Event]]
"""Returns one log without what it decides, except what this machine marked."""


def never_marked(event: Event) -> bool:
    """For logs whose marks do not count."""
    return False


def without_decisions(
    events: Iterable[Event], source: Source = Source.OTHERS, is_marked: IsMarked = never_marked
) -> Iterator[Event]:
    """The events without what they decide; those with a valid mark stay as they are."""
    for event in events:
        fact = event.fact if is_marked(event) else undecided(event.fact, source)
        yield event if fact is event.fact else event.but(fact=fact)


def refusals(log: Iterable[Event]) -> list[ApprovalDecided]:
    """Refusals of the questions that a log leaves open: they would be asked in the words of the log."""
    pending: dict[tuple[str, str], ApprovalRequested] = {}
    for event in log:
        match fact := event.fact:
            case ApprovalRequested():
                pending[fact.call_id, fact.agent] = fact
            case ApprovalDecided():
                pending.pop((fact.call_id, fact.agent), None)
            case _:
                pass
    return [
        ApprovalDecided(call_id=asked.call_id, approved=False, by=BY_BORDER, agent=asked.agent)
        for asked in pending.values()
    ]


def decides(fact: Fact) -> bool:
    """Whether a fact needs this machine's mark to count later. That of a resume says that its notes were shown here."""
    return isinstance(fact, SessionFork | SessionResume | ApprovalRequested) or (
        MARK in fact.FIELDS and undecided(fact, Source.OWN) != fact
    )


def undecided(fact: Fact, source: Source = Source.OTHERS) -> Fact:
    """The fact without what it would decide here."""
    if MARK in fact.FIELDS and getattr(fact, MARK):
        fact = fact.but(mark="")
    if isinstance(fact, ApprovalDecided):
        return (
            fact.but(scope="once", rules=(), folder="", pattern="", mode="")
            if fact.scope != "once" or fact.mode
            else fact
        )
    if source is Source.OTHERS:
        fact = _of_others(fact)
    return fact if source is Source.HERE else _of_elsewhere(fact)


def _of_elsewhere(fact: Fact) -> Fact:
    """Without addresses, files of policies, and what writes the system prompt."""
    if isinstance(fact, SessionStart):
        fact = fact.but(surroundings={})
    match fact:
        case SessionOrigin():
            return fact.but(model=_model(fact.model), policy=_policy(fact.policy))
        case ModelChange():
            return fact.but(to=_model(fact.to))
        case PolicyChange():
            return fact.but(to=_policy(fact.to))
        case BoardShown():
            return fact.but(note="", tokens=0, entries=0, where="")
        case Surroundings():
            return Surroundings()
        case FoldersChanged():
            return fact.but(added=())
        case Unknown() if fact.type in BY_TYPE and MARK in BY_TYPE[fact.type].FIELDS:
            return fact.but(payload={})  # a newer version of a decision
        case _:
            return fact


def _of_others(fact: Fact) -> Fact:
    """Without model and mode. A folder on another host is an address, too."""
    match fact:
        case SessionOrigin():
            return fact.but(model="", cwd=fact.cwd if fact.cwd.startswith("/") else "")
        case ModelChange():
            return fact.but(to="")
        case Message():
            message = _only_said(fact.message)
            return fact if message is fact.message else fact.but(message=message)
        case ModeChange() | AgentTransfer():
            return fact.but(from_="", to="")
        case CompactionComplete():
            replacement = tuple(map(_only_said, fact.replacement))
            return fact.but(checkpoint_path="", checkpoint_number=None, replacement=replacement)
        case Clear():
            return fact.but(carried=tuple(map(_only_said, fact.carried)))
        case _:
            return fact


def _only_said(message: Json) -> Json:
    """The message without words that count as the user's though its text does not say them, without speaking as
    co-tui, and without saying which instructions of a project were read. A note remains one: its text is not a prompt
    of the user."""
    parts = message.get("parts")
    if isinstance(parts, list | tuple) and any(map(_instructions_in, parts)):
        message = {**message, "parts": [_without_instructions(part) for part in parts]}
    metadata = message.get("metadata")
    if not isinstance(metadata, Mapping) or not {RULES, QUOTES, NOTE, RESTORED} & metadata.keys():
        return message
    left = {key: value for key, value in metadata.items() if key not in (RULES, RESTORED)}
    if QUOTES in left:
        left[QUOTES] = quoted_in(message, QUOTES)
    if NOTE in left:
        left[NOTE] = ANOTHERS_LOG
    return {**message, "metadata": left}


def _instructions_in(part: object) -> bool:
    metadata = part.get("metadata") if isinstance(part, Mapping) else None
    return isinstance(metadata, Mapping) and INSTRUCTIONS in metadata


def _without_instructions(part: Any) -> Any:
    if not _instructions_in(part):
        return part
    return {**part, "metadata": {key: value for key, value in part["metadata"].items() if key != INSTRUCTIONS}}


def _policy(name: str) -> str:
    return name if _SAFE_NAME.fullmatch(name) and not is_policy_path(name) else ""


def _model(name: str) -> str:
    return name if PUBLIC_MODEL.fullmatch(name) else ""
