"""Classify a failed request: a sentence for the user, and whether to retry."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import httpx2
from pydantic_ai import exceptions as errors

from co_tui.agent.models.catalogue import BASE_URL_VARIABLE, EMBEDDED, provider_of, served
from co_tui.agent.redact import redact
from co_tui.agent.wire.model_errors import ReplyCutOff, ReplyTooLong, ReplyUnreadable
from co_tui.events.storable import storable_text

MAX_DETAIL_CHARS = 390
MOST_UNREADABLE_SHARE = 0.3
"""Of a body's characters; with more, it is not text."""
DEEPEST_BODY = 8
"""How deep to search a body for its message."""


_ANOTHER = "choose another model with /model or --model"
_ADVICE = {
    "authentication": f"Set the right key and restart co-tui, or {_ANOTHER}.",
    "not_found": "/model lists available models.",
    "quota": f"Add credit, or {_ANOTHER}.",
    "context_limit": "/compact shortens it, /new starts a new session.",
    "rejected": f"If this persists, {_ANOTHER}.",
}
"""Advice for failures that a retry does not solve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failed attempt, ready to be shown and logged; contains no keys."""

    kind: str
    sentence: str
    retryable: bool
    status: int | None = None
    retry_after_s: float | None = None
    detail: str = ""
    """The provider's own message, shortened."""


@dataclass(frozen=True, slots=True)
class RequestTarget:
    """What a request was sent to, for sentences about it."""

    model: str
    address: str = ""
    secrets: tuple[str, ...] = ()


def read_failure(error: Exception, asked: RequestTarget) -> Failure:
    """Classify an error of a model run."""
    kind, sentence, retryable = _classify(error, asked)
    if advice := _ADVICE.get(kind, ""):
        sentence = f"{sentence}{'' if sentence.endswith(('.', '!', '?', '…')) else '.'} {advice}"
    return Failure(
        kind=kind,
        sentence=redact(sentence, asked.secrets),
        retryable=retryable,
        status=getattr(error, "status_code", None),
        retry_after_s=getattr(error, "retry_after", None),
        detail=_detail(error, asked.secrets),
    )


def _classify(error: Exception, asked: RequestTarget) -> tuple[str, str, bool]:
    name, where = asked.model, f" at {asked.address}" if asked.address else ""
    detail = _detail(error, asked.secrets)
    match error:
        case ReplyCutOff():
            return "cut_off", f"{name}{where} stopped mid-reply: {detail}", True
        case ReplyTooLong():
            return "too_long", f"The reply of {name} was stopped: {detail} Partial reply kept.", False
        case ReplyUnreadable():
            return "malformed", f"{name} sent an unreadable reply: {detail}", True
        case errors.ModelContextWindowExceededError():
            return "context_limit", f"The conversation does not fit the window of {name}: {detail}", False
        case errors.ModelAuthenticationError():
            return "authentication", f"{name} rejected the key{_variable(name)}: {detail}", False
        case errors.ModelNotFoundError():
            return "not_found", f"Unknown model {name}{where}: {detail}", False
        case errors.ModelQuotaExceededError():
            return "quota", f"The account for {name} is out of credit: {detail}", False
        case errors.ModelRateLimitError():
            return "rate_limit", f"{name} is rate limiting: {detail}", True
        case errors.ModelTimeoutError() | errors.ModelRequestTimeout() | TimeoutError():
            return "timeout", f"{name}{where} timed out.", True
        case errors.ModelConnectionError():
            if error.phase == "connect":
                return "unreachable", f"Cannot reach {name}{where}: {detail} {_hint(name)}".rstrip(), True
            return "connection", f"Lost the connection to {name}{where}: {detail}", True
        case errors.ModelOverloadedError() | errors.ModelUnavailableError() | errors.ModelServerError():
            return "server", f"{name} had a server error: {detail}", True
        case errors.ModelRequestRejectedError():
            return "rejected", f"{name} rejected the request: {detail}", False
        case errors.UnexpectedModelBehavior() if "token limit" in detail:
            return "length", f"{name} reached its output limit before answering.", False
        case errors.UnexpectedModelBehavior() if "without content" in detail or "output retries" in detail:
            return "malformed", f"{name} sent an empty reply, or not an event stream.", True
        case errors.UnexpectedModelBehavior() | json.JSONDecodeError():
            return "malformed", f"{name} sent an unreadable reply: {detail}", True
        case errors.ModelHTTPError():
            status = f"HTTP {error.status_code}"
            reply = detail if detail.startswith(status) else f"{status}: {detail}"
            return "http", f"{name} answered {reply}", error.status_code >= 500
        case errors.ModelAPIError() if 300 <= getattr(error.__cause__, "status_code", 0) < 400:
            return (
                "redirect",
                f"{name}{where} redirects to another server; nothing was sent there. {_hint(name)}",
                False,
            )
        case errors.ModelAPIError() if "as JSON" in detail:
            return "malformed", f"{name} sent an unreadable reply: {detail}", True
        case errors.ModelAPIError():
            return "provider", f"{name} failed: {detail}", True
        case OSError() | httpx2.HTTPError() | httpx2.StreamError():
            return "connection", f"Lost the connection to {name}{where}: {detail}", True
        case UnicodeEncodeError():
            return (
                "unsendable",
                f"The request to {name} contains characters that cannot be sent{_variable(name)}.",
                False,
            )
        case _:
            return "unexpected", f"Unexpected error in this turn: {type(error).__name__}: {detail}", False


def _detail(error: Exception, secrets: Iterable[str]) -> str:
    """The provider's own message, unwrapped; never empty."""
    body = getattr(error, "body", None)
    if isinstance(error, errors.ModelHTTPError) and not error.hint and not _is_readable(body):
        return f"HTTP {error.status_code} with an empty or unreadable body."
    text = _printable(_message_in(body)) or _printable(str(error)) or type(error).__name__
    text = redact(text, secrets)  # before it is cut: half a key is not recognised
    return text if len(text) <= MAX_DETAIL_CHARS else text[: MAX_DETAIL_CHARS - 1] + "…"


def _printable(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in storable_text(text)).split())


def _is_readable(body: object) -> bool:
    """Whether an error's body contains text: it may be empty, compressed, binary or blank."""
    text = _message_in(body) or body
    if isinstance(text, dict):
        return bool(text) and text.get("message") != ""
    if not isinstance(text, str):
        return text is not None
    strange = sum(not (c.isprintable() or c.isspace()) or c == "\ufffd" for c in text)
    return bool(_printable(text)) and strange <= MOST_UNREADABLE_SHARE * len(text)


def _message_in(body: Any, depth: int = 0) -> str:
    if depth > DEEPEST_BODY:
        return ""
    if isinstance(body, str):
        try:
            return _message_in(json.loads(body), depth + 1) or body
        except (ValueError, RecursionError):
            return body
    if isinstance(body, dict):
        for key in ("message", "error", "detail", "msg"):
            if found := _message_in(body.get(key), depth + 1):
                return found
    return ""


def _variable(model: str) -> str:
    provider = provider_of(model)
    return f" in {' or '.join(provider.key_variables)}" if provider and provider.key_variables else ""


def _hint(model: str) -> str:
    provider = provider_of(model)
    if model == EMBEDDED or provider is None:
        return ""
    if (at := served(model)) is not None and at.address:
        return "Is the server running?"
    if not provider.address_variable:
        return "Check your network."
    setting = "base_url or " if provider.address_variable == BASE_URL_VARIABLE else ""
    return f"Is the server running, and is {setting}{provider.address_variable} right?"
