"""How much models can write in one reply, where the provider library does not know it."""

import re
from typing import Any, Final

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

_CLAUDE_LIMITS: Final = (
    (r"claude-3-7", 64_000),
    (r"claude-3-5", 8_192),
    (r"claude-3-", 4_096),
    (r"claude-(4-)?opus", 32_000),
    (r"claude-(4-)?sonnet", 64_000),
)
"""For the Claude models before Sonnet 4.5, by how their names begin."""
SMALLEST_REPLY_TOKENS: Final = 1_024
ROOM_TO_ANSWER_TOKENS: Final = 4_096
"""What has to be left for the answer beside what the model may think."""


def output_limit(model: Model) -> int | None:
    """The most tokens a reply can have, for models that the library would cut at 4,096; None for all others.

    The library cuts them because they refuse a request whose input and `max_tokens` together exceed the window, and
    it does not know the size of the input.
    """
    profile: Any = model.profile
    if not profile.get("anthropic_rejects_max_tokens_beyond_context_window"):
        return None
    name = model.model_name[max(0, model.model_name.find("claude")) :]
    return next((tokens for pattern, tokens in _CLAUDE_LIMITS if re.match(pattern, name)), None)


def with_output_room(settings: ModelSettings, limit: int, room_tokens: int) -> ModelSettings:
    """The settings with as much room for the reply as the model and its window allow."""
    if "max_tokens" in settings:
        return settings
    most = max(SMALLEST_REPLY_TOKENS, min(limit, room_tokens))
    thinking_tokens = _thinking_tokens(settings)
    if thinking_tokens and most < thinking_tokens + ROOM_TO_ANSWER_TOKENS:
        return settings  # the library makes room for the thoughts, which count against the limit
    return ModelSettings(**settings, max_tokens=most)


def _thinking_tokens(settings: ModelSettings) -> int:
    from pydantic_ai.profiles.anthropic import ANTHROPIC_THINKING_BUDGET_MAP

    thinking = settings.get("thinking")
    return ANTHROPIC_THINKING_BUDGET_MAP.get(thinking, 0) if thinking else 0
