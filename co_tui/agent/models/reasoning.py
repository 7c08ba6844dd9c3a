"""How much a model shall think before it answers."""

from functools import cache
from typing import cast

from pydantic_ai.providers import infer_provider_class
from pydantic_ai.settings import ModelSettings, ThinkingEffort

from co_tui.agent.models.catalogue import EMBEDDED, is_file, served


def with_effort(settings: ModelSettings, effort: str) -> ModelSettings:
    """The settings of a request that asks for so much thinking; a model that knows no such thing is not told."""
    return ModelSettings(**settings, thinking=cast(ThinkingEffort, effort)) if effort else settings


@cache
def ignores_effort(model: str) -> bool:
    """Whether a model takes no such wish, as far as the provider library knows."""
    if model == EMBEDDED or is_file(model):
        return True
    prefix, _, name = model.partition(":")
    at = served(model)
    try:
        profile = infer_provider_class(prefix).model_profile(at.name if at else name) or {}
    except (ImportError, ValueError):
        return False
    return not (profile.get("supports_thinking") or profile.get("thinking_always_enabled"))
