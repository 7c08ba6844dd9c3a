"""What a server's tool returned, as text that can be stored, counted and shown."""

import json
from collections.abc import Sequence
from typing import Any, Final

from pydantic_ai.messages import BinaryContent, ToolReturn

from co_tui.agent.redact import HIDDEN
from co_tui.events.storable import storable, storable_text
from co_tui.inert import one_line

MOST_CHARS: Final = 50_000
"""As much as a command may say."""


def result_text(result: Any, secrets: Sequence[str] = ()) -> str:
    """Bounded, and without what is secret. Pictures and the like are told of: not every model takes them."""
    text = storable_text(_text(result))
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return bounded(text)


def bounded(text: str) -> str:
    if len(text) <= MOST_CHARS:
        return text
    half = MOST_CHARS // 2
    return f"{text[:half]}\n[… {len(text) - MOST_CHARS:,} characters left out …]\n{text[-half:]}"


def _text(result: Any) -> str:
    match result:
        case ToolReturn():
            return _text(result.return_value)
        case str():
            return result
        case BinaryContent():
            return f"[{one_line(result.media_type, 60)}, {len(result.data):,} bytes: it cannot be shown here]"
        case list() if any(isinstance(each, str | BinaryContent) for each in result):
            return "\n".join(map(_text, result))
        case None:
            return ""
        case _:
            return json.dumps(storable(result), ensure_ascii=False, indent=1)
