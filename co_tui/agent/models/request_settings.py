"""Settings of a request: how long the reply may be, and how much the model thinks first."""

import re
import sys
from functools import cache
from typing import Any, Final, cast

from pydantic_ai.models import Model
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.settings import ModelSettings, ThinkingEffort

from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.events.model_names import is_file, served

_CLAUDE_LIMITS: Final = (
    (r"claude-3-7", 64_000),
    (r"claude-3-5", 8_192),
    (r"claude-3-", 4_096),
    (r"claude-(4-)?opus", 32_000),
    (r"claude-(4-)?sonnet", 64_000),
)
"""Reply limits of Claude models before Sonnet 4.5, which the library does not know, by the start of their name."""
SMALLEST_REPLY_TOKENS: Final = 1_024
ROOM_TO_ANSWER_TOKENS: Final = 4_096
"""Reserved for the answer, in addition to the thinking budget."""


def output_limit(model: Model) -> int | None:
    """The longest reply in tokens, for models the library would limit to 4,096; None for all others.

    The library limits them because they refuse a request whose input and `max_tokens` together exceed the window, and
    it does not know the size of the input.
    """
    profile: Any = model.profile
    if not profile.get("anthropic_rejects_max_tokens_beyond_context_window"):
        return None
    name = model.model_name[max(0, model.model_name.find("claude")) :]
    return next((tokens for pattern, tokens in _CLAUDE_LIMITS if re.match(pattern, name)), None)


def with_output_room(settings: ModelSettings, limit: int, room_tokens: int) -> ModelSettings:
    """The settings with the longest reply that the model and its window allow."""
    if "max_tokens" in settings:
        return settings
    most = max(SMALLEST_REPLY_TOKENS, min(limit, room_tokens))
    thinking_tokens = _thinking_tokens(settings)
    if thinking_tokens and most < thinking_tokens + ROOM_TO_ANSWER_TOKENS:
        return settings  # the library adds room for thinking, which counts against the limit
    return ModelSettings(**settings, max_tokens=most)


def _thinking_tokens(settings: ModelSettings) -> int:
    from pydantic_ai.profiles.anthropic import ANTHROPIC_THINKING_BUDGET_MAP

    thinking = settings.get("thinking")
    return ANTHROPIC_THINKING_BUDGET_MAP.get(thinking, 0) if thinking else 0


def with_effort(settings: ModelSettings, effort: str) -> ModelSettings:
    """The settings with a thinking effort; unchanged when it is empty."""
    return ModelSettings(**settings, thinking=cast(ThinkingEffort, effort)) if effort else settings


def with_cache_key(settings: ModelSettings, session_id: str) -> ModelSettings:
    """The settings with a session's key for the prompt cache, unless they have one."""
    named: dict[str, Any] = {"openai_prompt_cache_key": session_id} if session_id else {}
    return cast(ModelSettings, {**named, **settings})


def on_wire(model: Model, settings: ModelSettings | None) -> ModelSettings | None:
    """The settings as the model's provider takes them: OpenAI's Responses API stores no reply unless set otherwise,
    and only it gets the key for the prompt cache."""
    if _uses_responses(model):
        return cast(ModelSettings, {"openai_store": False, **(settings or {})})
    if settings is None or "openai_prompt_cache_key" not in settings:
        return settings
    return cast(ModelSettings, {name: each for name, each in settings.items() if name != "openai_prompt_cache_key"})


def _uses_responses(model: Model) -> bool:
    openai = sys.modules.get("pydantic_ai.models.openai")  # slow to import, and not needed by other providers
    return openai is not None and isinstance(model, openai.OpenAIResponsesModel)


@cache
def ignores_effort(model: str) -> bool:
    """Whether a model ignores the thinking effort, as far as the provider library knows."""
    if model == EMBEDDED or is_file(model):
        return True
    prefix, _, name = model.partition(":")
    at = served(model)
    try:
        profile = infer_provider_class(prefix).model_profile(at.name if at else name) or {}
    except (ImportError, ValueError):
        return False
    return not (profile.get("supports_thinking") or profile.get("thinking_always_enabled"))
