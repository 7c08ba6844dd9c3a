"""The history after a resume: unchanged, or only the texts of the last turns (S4). Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

from co_tui.context.indexed_history import EARLIER
from co_tui.context.policy import Policy
from co_tui.events import Clear, Json
from co_tui.events.stored_messages import EXCERPTS, JOURNAL, QUOTES, REPLACES, RULES, SUMMARY, UNQUOTED
from co_tui.session.history.standing_rules import (
    holds_only_rules,
    is_users_prompt,
    metadata_of,
    missing_rules,
    rules_message,
)
from co_tui.session.state.history_edits import has_system, is_final_reply, pair_around
from co_tui.session.state.session_state import Entry, SessionState

LEAST_RESTORED_TURNS: Final = 3
OF_A_SUMMARY: Final = (SUMMARY, EXCERPTS, JOURNAL, RULES, QUOTES, UNQUOTED)


def restoring(state: SessionState, policy: Policy) -> Clear | None:
    """How the history changes on resume; None if it stays the same."""
    if not policy.restores_texts_only or state.pending:  # a call waiting for approval would be lost
        return None
    return restored(state, max(LEAST_RESTORED_TURNS, policy.agent_max_context_turns // 6))


def restored(state: SessionState, turns: int) -> Clear | None:
    """The prompt and final reply of the last turns, with system messages, pinned messages, standing rules and the
    latest summary; None if that is the history already."""
    history = [entry.message for entry in state.history]
    recent = _turns(state.history)[-turns:]
    kept = {near for place in _pinned(state) for near in pair_around(history, place)}
    kept.update(place for place, message in enumerate(history) if has_system(message) or _stands_in(message))
    for own in recent:
        kept.add(own[0])
        kept.update([place for place in own if is_final_reply(history[place])][-1:])
    carried = [place for place in sorted(kept) if holds_only_rules(history[place])]
    holder = _dropped_summary(history, kept)
    rules = missing_rules(
        state,
        state.history,
        [
            *(history[place] for place in sorted(kept) if place not in carried),
            *([_only_summary(history[holder])] if holder is not None else ()),
        ],
    )
    if [*rules] == [rule for place in carried for rule in metadata_of(history[place])[RULES]]:
        rules = ()  # they are already in place
    else:
        kept.difference_update(carried)
    first = recent[0][0] if recent else len(history)
    made: list[Json] = [rules_message(rules, history[first] if recent else {})] if rules else []
    removed = len(history) - len(kept)
    if holder is not None:
        is_free = recent and first not in _pinned(state)
        made.append(_with_summary_of(history[holder], history[first] if is_free else None, removed))
        kept.difference_update([first] if is_free else [])
    if not made and not removed:
        return None
    refs = [place for place in sorted(kept) if place < len(history)]
    return Clear(
        history=tuple(state.history[place].ref for place in refs),
        messages_removed=removed,
        carried=tuple(made),
        carried_at=sum(place < first for place in refs),
    )


def _turns(entries: Sequence[Entry]) -> list[list[int]]:
    """The indexes of each turn, its prompt first. Replacements from a compaction have no turn number: there a prompt
    starts a turn."""
    turns: list[list[int]] = []
    number = 0
    for place, entry in enumerate(entries):
        if is_users_prompt(entry.message) and not (turns and number and entry.turn == number):
            turns.append([place])
            number = entry.turn
        elif turns and not _stands_in(entry.message):
            turns[-1].append(place)
            number = number or entry.turn
    return turns


def _dropped_summary(history: Sequence[Json], kept: Iterable[int]) -> int | None:
    """The message with the latest summary, if it is not kept."""
    holder = next((place for place in reversed(range(len(history))) if SUMMARY in metadata_of(history[place])), None)
    return None if holder is None or holder in set(kept) else holder


def _with_summary_of(holder: Json, prompt: Json | None, removed: int) -> Json:
    """A prompt with the summary of another message added; without a prompt, the summary alone."""
    summary = _only_summary(holder)
    metadata = summary["metadata"]
    if prompt is None:
        return {**summary, "metadata": {REPLACES: removed, **metadata}}
    parts = list(prompt["parts"])
    first = next(place for place, part in enumerate(parts) if part.get("part_kind") == "user-prompt")
    joined = [*parts[:first], *summary["parts"], *parts[first:]]
    return {**prompt, "parts": joined, "metadata": {**metadata_of(prompt), **metadata}}


def _only_summary(message: Json) -> Json:
    metadata = {key: value for key, value in metadata_of(message).items() if key in OF_A_SUMMARY}
    return {**message, "parts": [part for part in message["parts"] if _is_summary(part)], "metadata": metadata}


def without_summary(message: Json) -> Json:
    """A prompt without the summary that was added to it, if there is one."""
    if SUMMARY not in metadata_of(message):
        return message
    metadata = {key: value for key, value in metadata_of(message).items() if key not in OF_A_SUMMARY}
    parts = [part for part in message["parts"] if not _is_summary(part)]
    return {**message, "parts": parts, "metadata": metadata or None}


def _pinned(state: SessionState) -> set[int]:
    return {place for place, entry in enumerate(state.history) if entry.ref in state.pins}


def _is_summary(part: Json) -> bool:
    content = part.get("content")
    return part.get("part_kind") == "user-prompt" and isinstance(content, str) and content.startswith(EARLIER)


def _stands_in(message: Json) -> bool:
    return REPLACES in metadata_of(message)
