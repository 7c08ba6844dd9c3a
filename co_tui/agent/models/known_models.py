"""Models that the provider library and the price list know."""

from difflib import get_close_matches
from functools import cache
from typing import Any

from pydantic_ai.models import KnownModelName

from co_tui.agent.local.embedded import WINDOW_TOKENS
from co_tui.agent.models.catalogue import EMBEDDED, PROVIDERS, runs_locally
from co_tui.events.model_names import served
from co_tui.record import Record
from co_tui.settings.rules import GGUF


class PriceListEntry(Record):
    """What the price list says about a model."""

    window_tokens: int | None = None
    input_price: float | None = None
    """US dollars per million prompt tokens, at the base rate."""
    output_price: float | None = None


def known_names() -> list[str]:
    """Every model string the provider library lists."""
    return list(KnownModelName.__value__.__args__)


def offered_names() -> list[str]:
    """The models of the providers in the catalogue, their default models first."""
    defaults = [f"{each.prefix}:{each.default_model}" for each in PROVIDERS if each.default_model]
    prefixes = {provider.prefix for provider in PROVIDERS} - {"openai-chat"}  # the same models as openai's
    return list(dict.fromkeys((*defaults, *(name for name in known_names() if name.partition(":")[0] in prefixes))))


def offered_windows() -> dict[str, int | None]:
    """Their windows in tokens, and the embedded model's; None where no one has recorded it."""
    return {**{name: recorded_window(name) for name in offered_names()}, EMBEDDED: WINDOW_TOKENS}


def recorded_window(name: str) -> int | None:
    """A model's window in tokens, from the price list."""
    return recorded(name).window_tokens


@cache
def assumed(name: str) -> PriceListEntry:
    """What the price list says about a model of that name at its maker: an assumption, since another serves it."""
    found = maker_model(name)
    return recorded(found) if found else PriceListEntry()


@cache
def maker_model(name: str) -> str:
    """The model of that name at its maker, as a model string, for one on another server; empty if the name is unknown,
    or runs here."""
    from genai_prices.data_snapshot import get_snapshot

    at = served(name)
    if at is None or runs_locally(name):
        return ""
    own = at.name.rpartition("/")[2]  # routers put the maker before it
    try:
        maker, _ = get_snapshot().find_provider_model(own, provider=None, provider_id=None, provider_api_url=None)
    except LookupError:
        return ""
    return f"{maker.id}:{own}"


@cache
def recorded(name: str) -> PriceListEntry:
    """The price list's entry for a model string; empty for an unknown one."""
    from datetime import UTC, datetime

    from genai_prices.data_snapshot import get_snapshot

    prefix, _, model = name.partition(":")
    try:
        _, found = get_snapshot().find_provider_model(model, provider=None, provider_id=prefix, provider_api_url=None)
    except LookupError:
        return PriceListEntry()
    price = found.get_prices(datetime.now(UTC))
    return PriceListEntry(
        window_tokens=found.context_window,
        input_price=_base(price.input_mtok),
        output_price=_base(price.output_mtok),
    )


def _base(price: Any) -> float | None:
    """A price, or the first tier of a tiered one."""
    if price is None:
        return None
    return float(getattr(price, "base", price))


def unknown_model(name: str) -> str:
    """The sentence about an unknown model string."""
    known = known_names()
    close = get_close_matches(name, known, n=3) or [each for each in known if each.endswith(f":{name}")][:3]
    prefixes = ", ".join(provider.prefix for provider in PROVIDERS)
    if close:
        return f"Unknown model {name!r}. Did you mean {' or '.join(close)}?"
    return f"Unknown model {name!r}. Use PROVIDER:NAME with one of {prefixes}; {GGUF}:PATH; or {EMBEDDED}."
