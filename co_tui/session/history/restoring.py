"""The history after a resume: unchanged, or only the texts of the last turns (S4). Pure."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from co_tui.context.compact import user_messages
from co_tui.context.policy import Policy
from co_tui.context.turns import EARLIER
from co_tui.events import Clear, Json
from co_tui.events.stored_messages import (
    COMMAND,
    EXCERPTS,
    JOURNAL,
    NOTE,
    QUOTES,
    REPLACES,
    RULES,
    SUMMARY,
    UNQUOTED,
    pieces,
    prompt_of,
)
from co_tui.session.history.originals import originals
from co_tui.session.state.history_edits import has_system, is_final_reply, pair_around
from co_tui.session.state.session_state import Entry, SessionState

LEAST_RESTORED_TURNS: Final = 3
RULES_ROOM_TOKENS: Final = 2_000
"""Standing rules get their usual share of this."""
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
    carried = [place for place in sorted(kept) if _holds_only_rules(history[place])]
    rules = _rules(state, [history[place] for place in sorted(kept) if place not in carried])
    if [*rules] == [rule for place in carried for rule in _metadata(history[place])[RULES]]:
        rules = ()  # they are already in place
    else:
        kept.difference_update(carried)
    first = recent[0][0] if recent else len(history)
    made: list[Json] = [_rules_message(rules, history[first] if recent else {})] if rules else []
    removed = len(history) - len(kept)
    if (holder := _dropped_summary(history, kept)) is not None:
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
        if _is_prompt(entry.message) and not (turns and number and entry.turn == number):
            turns.append([place])
            number = entry.turn
        elif turns and not _stands_in(entry.message):
            turns[-1].append(place)
            number = number or entry.turn
    return turns


def _rules(state: SessionState, kept: Iterable[Json]) -> tuple[str, ...]:
    """The user's standing rules that are not in the kept messages."""
    said = (entry.message for entry in originals(state, state.history) if _is_prompt(entry.message))
    carried = (rule for entry in state.history for rule in _metadata(entry.message).get(RULES, ()))
    found = dict.fromkeys((*carried, *user_messages.rules_in(prompt_of(message) or "" for message in said)))
    present = "\n".join(" ".join(text.split()) for message in kept for _, text, _ in pieces(message))
    missing = tuple(rule for rule in found if rule.rstrip("…") not in present)
    return user_messages.fitting(user_messages.UserMessages(missing), RULES_ROOM_TOKENS).rules


def _rules_message(rules: tuple[str, ...], like: Json) -> Json:
    words = user_messages.UserMessages(rules)
    return _message(user_messages.as_sections(words), like, {REPLACES: 0, RULES: list(rules)})


def _dropped_summary(history: Sequence[Json], kept: Iterable[int]) -> int | None:
    """The message with the latest summary, if it is not kept."""
    holder = next((place for place in reversed(range(len(history))) if SUMMARY in _metadata(history[place])), None)
    return None if holder is None or holder in set(kept) else holder


def _with_summary_of(holder: Json, prompt: Json | None, removed: int) -> Json:
    """A prompt with the summary of another message added; without a prompt, the summary alone."""
    notes = [part for part in holder["parts"] if _is_summary(part)]
    metadata = {key: value for key, value in _metadata(holder).items() if key in OF_A_SUMMARY}
    if prompt is None:
        return {**holder, "parts": notes, "metadata": {REPLACES: removed, **metadata}}
    parts = list(prompt["parts"])
    first = next(place for place, part in enumerate(parts) if part.get("part_kind") == "user-prompt")
    return {**prompt, "parts": [*parts[:first], *notes, *parts[first:]], "metadata": {**_metadata(prompt), **metadata}}


def _message(text: str, like: Json, metadata: Json) -> Json:
    when = {"timestamp": like["timestamp"]} if like.get("timestamp") else {}
    part = {"part_kind": "user-prompt", "content": text, **when}
    return {"kind": "request", "parts": [part], "metadata": metadata, **when}


def _pinned(state: SessionState) -> set[int]:
    return {place for place, entry in enumerate(state.history) if entry.ref in state.pins}


def _is_prompt(message: Json) -> bool:
    metadata = _metadata(message)
    return not {REPLACES, COMMAND, NOTE} & metadata.keys() and prompt_of(message) is not None


def _is_summary(part: Json) -> bool:
    content = part.get("content")
    return part.get("part_kind") == "user-prompt" and isinstance(content, str) and content.startswith(EARLIER)


def _stands_in(message: Json) -> bool:
    return REPLACES in _metadata(message)


def _holds_only_rules(message: Json) -> bool:
    metadata = _metadata(message)
    return REPLACES in metadata and RULES in metadata and not {SUMMARY, QUOTES} & metadata.keys()


def _metadata(message: Json) -> dict[str, Any]:
    return message.get("metadata") or {}
