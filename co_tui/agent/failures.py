"""What a failed request means: a sentence for people, and whether asking again makes sense."""

import json
from dataclasses import dataclass
from typing import Any

from pydantic_ai import exceptions as errors

from co_tui.agent.catalogue import EMBEDDED, provider_of
from co_tui.agent.redact import redact

MAX_DETAIL_CHARS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failed attempt, ready to be told and logged; holds no key and no token."""

    kind: str
    sentence: str
    retryable: bool
    status: int | None = None
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """Whom we asked, for the sentence."""

    model: str
    address: str = ""
    secrets: tuple[str, ...] = ()


def read_failure(error: Exception, asked: Asked) -> Failure:
    """Classify what a model run raised."""
    kind, sentence, retryable = _classify(error, asked)
    return Failure(
        kind=kind,
        sentence=redact(sentence, asked.secrets),
        retryable=retryable,
        status=getattr(error, "status_code", None),
        retry_after_s=getattr(error, "retry_after", None),
    )


def _classify(error: Exception, asked: Asked) -> tuple[str, str, bool]:
    name, where = asked.model, f" at {asked.address}" if asked.address else ""
    detail = _detail(error)
    match error:
        case errors.ModelContextWindowExceededError():
            return "context_limit", f"The conversation no longer fits the window of {name}: {detail}", False
        case errors.ModelAuthenticationError():
            return "authentication", f"{name} refused the key{_variable(name)}: {detail}", False
        case errors.ModelNotFoundError():
            return "not_found", f"The provider does not know the model {name}{where}: {detail}", False
        case errors.ModelQuotaExceededError():
            return "quota", f"The account behind {name} is out of credit: {detail}", False
        case errors.ModelRateLimitError():
            return "rate_limit", f"{name} asks to slow down: {detail}", True
        case errors.ModelTimeoutError() | errors.ModelRequestTimeout() | TimeoutError():
            return "timeout", f"{name}{where} did not answer in time.", True
        case errors.ModelConnectionError():
            if error.phase == "connect":
                return "unreachable", f"{name} cannot be reached{where}: {detail} {_hint(name)}".rstrip(), True
            return "connection", f"The connection to {name}{where} broke: {detail}", True
        case errors.ModelOverloadedError() | errors.ModelUnavailableError() | errors.ModelServerError():
            return "server", f"{name} failed on its side: {detail}", True
        case errors.ModelRequestRejectedError():
            return "rejected", f"{name} rejected the request: {detail}", False
        case errors.UsageLimitExceeded():
            return "steps", "The turn stopped: it took as many steps as `agent_max_steps` allows.", False
        case errors.UnexpectedModelBehavior() | json.JSONDecodeError():
            return "malformed", f"{name} sent a reply that cannot be read: {detail}", True
        case errors.ModelHTTPError():
            return "http", f"{name} answered with HTTP {error.status_code}: {detail}", error.status_code >= 500
        case errors.ModelAPIError():
            return "provider", f"{name} failed: {detail}", True
        case OSError():
            return "connection", f"The connection to {name}{where} broke: {detail}", True
        case _:
            return "unexpected", f"The turn failed unexpectedly: {type(error).__name__}: {detail}", False


def _detail(error: Exception) -> str:
    """The provider's own words, out of whatever it wrapped them in."""
    text = _message_in(getattr(error, "body", None)) or str(error) or type(error).__name__
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= MAX_DETAIL_CHARS else text[: MAX_DETAIL_CHARS - 1] + "…"


def _message_in(body: Any) -> str:
    if isinstance(body, str):
        try:
            return _message_in(json.loads(body)) or body
        except ValueError:
            return body
    if isinstance(body, dict):
        for key in ("message", "error", "detail", "msg"):
            if found := _message_in(body.get(key)):
                return found
    return ""


def _variable(model: str) -> str:
    provider = provider_of(model)
    return f" in {' or '.join(provider.key_variables)}" if provider and provider.key_variables else ""


def _hint(model: str) -> str:
    provider = provider_of(model)
    if model == EMBEDDED or provider is None or not provider.address_variable:
        return ""
    return f"Is the server running, and is {provider.address_variable} right?"
