"""What replies cost, as far as anybody published a price."""

import re
from dataclasses import replace

from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage


def is_published(address: str) -> bool:
    """Whether the price list knows who answers there: a server of one's own may call its model anything."""
    from genai_prices.data_snapshot import get_snapshot

    return any(re.match(provider.api_pattern, address) for provider in get_snapshot().providers)


def price_of(response: ModelResponse) -> float | None:
    """The reply's price in US dollars; None when nobody published one."""
    if response.provider_name == "openai" and not is_published(response.provider_url or ""):
        return None  # a server that only speaks as OpenAI does
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None


def saved_by_cache(response: ModelResponse) -> float | None:
    """What the provider's cache of prompts took off a reply's price; None without a cache or a price."""
    usage = response.usage
    if not usage.cache_read_tokens and not usage.cache_write_tokens:
        return None
    plain = replace(response, usage=replace(usage, cache_read_tokens=0, cache_write_tokens=0))
    without, paid = price_of(plain), price_of(response)
    return None if without is None or paid is None else without - paid


def price_of_input(like: ModelResponse, tokens: int) -> float | None:
    """What so many tokens of prompt cost with the model that gave this reply."""
    priced = ModelResponse(
        parts=[],
        usage=RequestUsage(input_tokens=tokens),
        model_name=like.model_name,
        provider_name=like.provider_name,
        provider_url=like.provider_url,
        timestamp=like.timestamp,
    )
    return price_of(priced)
