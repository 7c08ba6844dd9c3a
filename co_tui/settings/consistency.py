"""Settings beside each other: which contradict, and which the present policy does not use."""

from collections.abc import Mapping
from typing import Final

from co_tui.settings.values import Settings

_OF_COMPACTION: Final[Mapping[str, tuple[str, ...]]] = {
    "window": ("max_history_messages",),
    "background": ("background_compaction_threshold", "buffer_exhaustion_threshold"),
    "turns": ("agent_max_context_tokens", "agent_max_context_turns", "few_turns"),
    "compress": ("compression_threshold", "run_compression_low", "run_compression_high"),
}
"""The numbers that one way of compacting reads, and no other."""
_OF_ANY_COMPACTION: Final = ("min_compaction_messages", "compaction_asks", "compaction_waits", "summarization_model")


def contradictions(settings: Settings) -> list[str]:
    """What cannot be meant, each in a sentence that names both values."""
    found = []
    for low, high in (
        ("background_compaction_threshold", "buffer_exhaustion_threshold"),
        ("run_compression_low", "run_compression_high"),
    ):
        if getattr(settings, low) > getattr(settings, high):
            found.append(
                f"{low} = {getattr(settings, low):g} and {high} = {getattr(settings, high):g} contradict each other: "
                "the first must not be above the second."
            )
    kept = settings.keep_recent_share + settings.summary_share
    if settings.compaction == "background" and kept >= settings.buffer_exhaustion_threshold:
        found.append(
            f"keep_recent_share = {settings.keep_recent_share:g} and summary_share = {settings.summary_share:g} leave "
            f"no room below buffer_exhaustion_threshold = {settings.buffer_exhaustion_threshold:g}: "
            "a compaction would free nothing."
        )
    return found


def unused(settings: Settings) -> Mapping[str, str]:
    """Settings that nothing reads as things stand, each with why."""
    why = f"not used by policy {settings.policy} (compaction = {settings.compaction})"
    found = {key: why for kind, keys in _OF_COMPACTION.items() if kind != settings.compaction for key in keys}
    if settings.compaction == "none":
        found |= dict.fromkeys(_OF_ANY_COMPACTION, why)
    if settings.summary_fallback != "limits":
        found |= dict.fromkeys(("fallback_messages", "fallback_tokens"), "not used: summary_fallback is not limits")
    if settings.truncation == "off":
        found["truncation_headroom"] = "not used while truncation is off"
    if settings.model and not settings.model.startswith("openai-chat:"):
        found["base_url"] = "not used: the model is no openai-chat: one"
    return found
