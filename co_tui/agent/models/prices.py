"""What replies cost, where a price is published."""

import re
from dataclasses import replace
from enum import Enum

from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.usage import RequestUsage

from co_tui.agent.models.catalogue import runs_locally
from co_tui.agent.models.known_models import assumed, maker_model, recorded
from co_tui.agent.web.page_address import AddressRefused, read_address
from co_tui.events.model_names import served


def is_published(address: str) -> bool:
    """Whether the price list knows the provider at an address; on other servers a model's name means nothing."""
    from genai_prices.data_snapshot import get_snapshot

    return any(re.match(provider.api_pattern, address) for provider in get_snapshot().providers)


def is_own_server(address: str) -> bool:
    """Whether an address is on this machine or a private network: what a server there costs is not known."""
    try:
        found = read_address(address)
    except AddressRefused:
        return False
    is_local_name = "." not in found.host or found.host.endswith((".local", ".internal", ".lan", ".home.arpa"))
    return found.is_private or (is_local_name and not found.ip)


class Pricing(Enum):
    """What is known of a model's price before it is asked."""

    PUBLISHED = "published"
    ASSUMED = "assumed"
    FREE = "free"
    UNKNOWN = "unknown"


def pricing_of(model: str, address: str) -> Pricing:
    """What is known of the price of a model at an address."""
    if runs_locally(model):
        return Pricing.FREE
    if not served(model) or is_published(address):
        listed = recorded(model).input_price is not None or assumed(model).input_price is not None
        return Pricing.PUBLISHED if listed else Pricing.UNKNOWN
    is_assumed = assumed(model).input_price is not None and not is_own_server(address)
    return Pricing.ASSUMED if is_assumed else Pricing.UNKNOWN


def price_of(response: ModelResponse) -> float | None:
    """The reply's price in US dollars; None when it is not published."""
    if response.provider_name == "openai" and not is_published(response.provider_url or ""):
        return None  # merely compatible with OpenAI
    return _listed_price(response)


def _listed_price(response: ModelResponse) -> float | None:
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None


def assumed_price(response: ModelResponse, model: str) -> float | None:
    """The price at the maker of the model that was asked for, for a reply of another provider's server; None if not
    known."""
    address = response.provider_url or ""
    is_elsewhere = response.provider_name == "openai" and not is_published(address)
    name = maker_model(model) if is_elsewhere and not is_own_server(address) else ""
    if not name:
        return None
    maker, _, own = name.partition(":")
    return _listed_price(replace(response, model_name=own, provider_name=maker, provider_url=None))


def saved_by_cache(response: ModelResponse) -> float | None:
    """What prompt caching saved on a reply; None without a cache or a price."""
    usage = response.usage
    if not usage.cache_read_tokens and not usage.cache_write_tokens:
        return None
    plain = replace(response, usage=replace(usage, cache_read_tokens=0, cache_write_tokens=0))
    without, paid = price_of(plain), price_of(response)
    return None if without is None or paid is None else without - paid


def empty_reply(model: Model) -> ModelResponse:
    """A reply of this model without content, to look up prices."""
    try:
        address = model.base_url
    except Exception:  # clients without an address raise different errors
        address = None
    return ModelResponse(parts=[], model_name=model.model_name, provider_name=model.system, provider_url=address)


def price_of_input(like: ModelResponse, tokens: int) -> float | None:
    """The price of that many prompt tokens with the model that gave this reply."""
    priced = ModelResponse(
        parts=[],
        usage=RequestUsage(input_tokens=tokens),
        model_name=like.model_name,
        provider_name=like.provider_name,
        provider_url=like.provider_url,
        timestamp=like.timestamp,
    )
    return price_of(priced)
