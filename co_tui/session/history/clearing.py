"""What a cleared context keeps when nothing longer was accepted (C10). Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from pydantic_ai.messages import ModelMessage

from co_tui.context.indexed_history import IndexedHistory
from co_tui.events import Clear, Json
from co_tui.session.history.restoring import without_summary
from co_tui.session.history.standing_rules import missing_rules, rules_message
from co_tui.session.state.history_edits import has_system, system_only
from co_tui.session.state.session_state import SessionState


def cleared_except(
    state: SessionState,
    messages: Sequence[ModelMessage],
    keep: Iterable[int],
    window_tokens: int,
    *,
    with_summary: bool = True,
) -> Clear | None:
    """A history of the messages to `keep`, system and pinned messages, standing rules and the latest prompt, that one
    without its summary unless `with_summary`; None if it is that already, or nothing would be left."""
    history, indexed = state.history, IndexedHistory(messages)
    prompt = indexed.latest_prompt
    pinned = [index for index, entry in enumerate(history) if entry.ref in state.pins]
    kept = {*keep, *indexed.steps_around(pinned)}
    # System messages are never removed (I2); of a message with other parts, only the system part stays.
    parts = {n: system_only(entry.message) for n, entry in enumerate(history) if has_system(entry.message)}
    if prompt is not None:
        parts[prompt] = history[prompt].message if with_summary else without_summary(history[prompt].message)
    kept.update(index for index, message in parts.items() if message == history[index].message)
    made = {index: message for index, message in parts.items() if index not in kept}
    if len(kept) == len(history) or not (kept or made):
        return None
    removed = len(history) - len(kept.union(made)) + (prompt in made)  # a summary counts as a message
    return _clear(state, kept, made, prompt, window_tokens).but(messages_removed=removed)


def _clear(
    state: SessionState, kept: Collection[int], made: Mapping[int, Json], prompt: int | None, window_tokens: int
) -> Clear:
    """The messages `kept`, those `made` of others, and rules that are in none of them, before the prompt."""
    history = state.history
    present = [*(history[index].message for index in sorted(kept)), *made.values()]
    rules = missing_rules(state, history, present, window_tokens=window_tokens)
    notes = [rules_message(rules, history[prompt or 0].message)] if rules else []
    system = [message for index, message in sorted(made.items()) if index != prompt]
    first = prompt if prompt in made or not made else min(made)
    return Clear(
        history=tuple(history[index].ref for index in sorted(kept)),
        carried=(*system, *notes, *(message for index, message in made.items() if index == prompt)),
        carried_at=sum(index < (first or 0) for index in kept),
    )
