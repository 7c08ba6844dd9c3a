"""What replies cost, as far as anybody published a price."""

from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage


def price_of(response: ModelResponse) -> float | None:
    """The reply's price in US dollars; None when nobody published one."""
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None


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
