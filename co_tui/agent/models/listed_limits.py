"""What a server's list of models tells about the length of a request, in the words of the servers we know."""

from collections.abc import Iterator, Mapping
from typing import Any


def told_window(entry: Mapping[str, Any]) -> int | None:
    """The longest prompt a model takes, else its window, in tokens; None when its entry tells neither."""
    told = [value for value in _told(entry) if isinstance(value, int) and not isinstance(value, bool) and value > 0]
    return min(told, default=None)


def _told(entry: Mapping[str, Any]) -> Iterator[Any]:
    capabilities = entry.get("capabilities")
    limits = capabilities.get("limits") if isinstance(capabilities, Mapping) else None
    if isinstance(limits, Mapping):
        yield from (limits.get("max_prompt_tokens"), limits.get("max_context_window_tokens"))
    meta = entry.get("meta")
    if isinstance(meta, Mapping):
        yield meta.get("n_ctx")
    yield from (entry.get("max_model_len"), entry.get("max_input_tokens"), entry.get("max_prompt_tokens"))
