"""The standing rules the user gave, for a history that is about to lose some of them. Pure."""

import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from co_tui.append_only import AppendOnly
from co_tui.context.compact import user_messages
from co_tui.context.compact.replacement import rules_note
from co_tui.events import Json
from co_tui.events.stored_messages import COMMAND, NOTE, QUOTES, REPLACES, RULES, SUMMARY, pieces, prompt_of
from co_tui.session.history.originals import originals
from co_tui.session.state.parsed_messages import message_json
from co_tui.session.state.session_state import Entry, SessionState

RULES_ROOM_TOKENS: Final = 2_000
"""Standing rules get their usual share of this."""
RULES_WINDOW_SHARE: Final = 0.25
"""Of the window: it limits that room."""


def missing_rules(
    state: SessionState,
    history: AppendOnly[Entry],
    kept: Iterable[Json],
    *,
    agent: str = "",
    window_tokens: float = math.inf,
) -> tuple[str, ...]:
    """The standing rules behind a history that are not in the messages kept of it."""
    said = (entry.message for entry in originals(state, history, agent) if is_users_prompt(entry.message))
    carried = (rule for entry in history for rule in metadata_of(entry.message).get(RULES, ()))
    found = dict.fromkeys((*carried, *user_messages.rules_in(prompt_of(message) or "" for message in said)))
    present = "\n".join(" ".join(text.split()) for message in kept for _, text, _ in pieces(message))
    missing = tuple(rule for rule in found if rule.rstrip("… ") not in present)
    room = min(RULES_ROOM_TOKENS, RULES_WINDOW_SHARE * window_tokens)
    return user_messages.fitting(user_messages.UserMessages(missing), room).rules


def rules_message(rules: tuple[str, ...], like: Json) -> Json:
    """A message with these rules, of the time of another message."""
    when = like.get("timestamp")
    return message_json(rules_note(rules, datetime.fromisoformat(when) if isinstance(when, str) else None))


def holds_only_rules(message: Json) -> bool:
    """Whether it is such a message."""
    metadata = metadata_of(message)
    return REPLACES in metadata and RULES in metadata and not {SUMMARY, QUOTES} & metadata.keys()


def is_users_prompt(message: Json) -> bool:
    return not {REPLACES, COMMAND, NOTE} & metadata_of(message).keys() and prompt_of(message) is not None


def metadata_of(message: Json) -> dict[str, Any]:
    return message.get("metadata") or {}
