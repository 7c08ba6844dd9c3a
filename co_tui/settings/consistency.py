"""Check settings together: which contradict each other, and which the current policy ignores."""

from collections.abc import Iterator, Mapping
from typing import Final

from co_tui.settings.all_settings import Settings
from co_tui.settings.by_window import in_window, windows_of

_OF_COMPACTION: Final[Mapping[str, tuple[str, ...]]] = {
    "window": ("max_history_messages",),
    "background": ("background_compaction_threshold", "buffer_exhaustion_threshold"),
    "turns": ("agent_max_context_tokens", "agent_max_context_turns", "few_turns"),
    "compress": ("compression_threshold", "run_compression_low", "run_compression_high"),
}
"""Settings that only one kind of compaction reads."""
_BY_WINDOW: Final = (
    "background_compaction_threshold",
    "buffer_exhaustion_threshold",
    "keep_recent_share",
    "summary_share",
)
ANY_WINDOW_TOKENS: Final = 128_000
_OF_ANY_COMPACTION: Final = ("min_compaction_messages", "compaction_asks", "compaction_waits", "summarization_model")


def contradictions(settings: Settings) -> list[str]:
    """The contradictions, each a sentence that names both values."""
    windows = windows_of(getattr(settings, name) for name in _BY_WINDOW) or [ANY_WINDOW_TOKENS]
    return list(dict.fromkeys(sentence for window in windows for sentence in _contradictions_in(settings, window)))


def _contradictions_in(settings: Settings, window_tokens: int) -> Iterator[str]:
    def value(name: str) -> float:
        return in_window(getattr(settings, name), window_tokens)

    for low, high in (
        ("background_compaction_threshold", "buffer_exhaustion_threshold"),
        ("run_compression_low", "run_compression_high"),
    ):
        if value(low) > value(high):
            yield (f"{low} = {value(low):g} must not be above {high} = {value(high):g}.")
    if settings.compaction == "python" and settings.policy_code is None:
        yield f"compaction = python needs a policy written in Python; {settings.policy} is not."
    waits = value("buffer_exhaustion_threshold")
    if settings.compaction == "background" and value("keep_recent_share") + value("summary_share") >= waits:
        yield (
            f"keep_recent_share = {value('keep_recent_share'):g} and summary_share = {value('summary_share'):g} "
            f"must fit below buffer_exhaustion_threshold = {waits:g}."
        )


def unused(settings: Settings) -> Mapping[str, str]:
    """Settings that currently have no effect, each with the reason."""
    why = f"unused by policy {settings.policy} (compaction = {settings.compaction})"
    found = {key: why for kind, keys in _OF_COMPACTION.items() if kind != settings.compaction for key in keys}
    if settings.compaction == "none":
        found |= dict.fromkeys(_OF_ANY_COMPACTION, why)
    if settings.summary_fallback != "limits":
        found |= dict.fromkeys(("fallback_messages", "fallback_tokens"), "unused unless summary_fallback is limits")
    if not settings.clear_results_tokens:
        why_not = "unused while clear_results_tokens is 0"
        found |= dict.fromkeys(("clear_results_step_tokens", "cleared_result_chars"), why_not)
    if settings.truncation == "off":
        found["truncation_headroom"] = "unused while truncation is off"
    if settings.model and not settings.model.startswith("openai-chat:"):
        found["base_url"] = "unused: the model is not an openai-chat: one"
    return found
