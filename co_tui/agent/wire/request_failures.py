"""Classify a failed request: a sentence for the user, and whether to retry."""

import json
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import httpx2
from pydantic_ai import exceptions as errors

from co_tui.agent.models.catalogue import BASE_URL_VARIABLE, EMBEDDED, provider_of
from co_tui.agent.redact import redact
from co_tui.agent.wire.model_errors import FormRefused, ReplyCutOff, ReplyTooLong, ReplyUnreadable
from co_tui.events.model_names import served, short_name
from co_tui.events.storable import storable_text

MAX_DETAIL_CHARS = 390
MOST_UNREADABLE_SHARE = 0.3
"""Of a body's characters; with more, it is not text."""
DEEPEST_BODY = 8
"""How deep to search a body for its message."""


OPENAI_ADDRESS: Final = "https://api.openai.com/"
"""Of the one provider whose address can be set and has a default on the network."""
_ANOTHER = "choose another model with /model or --model"
_ADVICE = {
    "not_found": "/model lists available models.",
    "quota": f"Add credit, or {_ANOTHER}.",
    "context_limit": "/compact shortens it, /new starts a new session.",
    "rejected": f"If this persists, {_ANOTHER}.",
}
"""Advice for failures that a retry does not solve."""


class Failure(NamedTuple):
    """One failed attempt, ready to be shown and logged; contains no keys."""

    kind: str
    sentence: str
    retryable: bool
    status: int | None = None
    retry_after_s: float | None = None
    detail: str = ""
    """The provider's own message, shortened."""


class RequestTarget(NamedTuple):
    """What a request was sent to, for sentences about it."""

    model: str
    address: str = ""
    secrets: tuple[str, ...] = ()
    key_source: str = ""
    """The variable or place its key comes from."""
    key: str = ""


class _Rule(NamedTuple):
    """What an error means; the first rule that fits counts."""

    errors: type[Exception] | tuple[type[Exception], ...]
    kind: str
    sentence: str
    """A template: `at` is the address, `key` the key's variable, `hint` what to check."""
    retryable: bool = False
    when: Callable[[Any, str], bool] = lambda error, detail: True
    """Of the error and the provider's own message."""


_UNREADABLE = "{name} sent an unreadable reply: {detail}"
_BROKEN = "Lost the connection to {name}{at}: {detail}"
_OWN_FAILURES = (errors.ModelOverloadedError, errors.ModelUnavailableError, errors.ModelServerError)
_RULES: Final = (
    _Rule(FormRefused, "form", "{name} rejected the request: {detail}"),
    _Rule(ReplyCutOff, "cut_off", "{name}{at} stopped mid-reply: {detail}", True),
    _Rule(ReplyTooLong, "too_long", "The reply of {name} was stopped: {detail} Partial reply kept."),
    _Rule(ReplyUnreadable, "malformed", _UNREADABLE, True),
    _Rule(
        errors.ModelContextWindowExceededError,
        "context_limit",
        "The conversation does not fit the window of {name}: {detail}",
    ),
    _Rule(errors.ModelAuthenticationError, "authentication", "{name} rejected the key{key}: {detail}"),
    _Rule(errors.ModelNotFoundError, "not_found", "Unknown model {name}{at}: {detail}"),
    _Rule(errors.ModelQuotaExceededError, "quota", "The account for {name} is out of credit: {detail}"),
    _Rule(errors.ModelRateLimitError, "rate_limit", "{name} is rate limiting: {detail}", True),
    _Rule(
        (errors.ModelTimeoutError, errors.ModelRequestTimeout, TimeoutError),
        "timeout",
        "{name}{at} timed out.",
        True,
    ),
    _Rule(
        errors.ModelConnectionError,
        "unreachable",
        "Cannot reach {name}{at}: {detail} {hint}",
        True,
        when=lambda error, _: error.phase == "connect",
    ),
    _Rule(errors.ModelConnectionError, "connection", _BROKEN, True),
    _Rule(_OWN_FAILURES, "server", "{name} had a server error: {detail}", True),
    _Rule(errors.ModelRequestRejectedError, "rejected", "{name} rejected the request: {detail}"),
    _Rule(errors.ContentFilterError, "filtered", "{name}'s content filter withheld the reply."),
    _Rule(
        errors.UnexpectedModelBehavior,
        "length",
        "{name} reached its output limit before answering.",
        when=lambda _, detail: "token limit" in detail,
    ),
    _Rule(
        errors.UnexpectedModelBehavior,
        "malformed",
        "{name} sent an empty reply, or not an event stream.",
        True,
        when=lambda _, detail: "without content" in detail or "output retries" in detail,
    ),
    _Rule((errors.UnexpectedModelBehavior, json.JSONDecodeError), "malformed", _UNREADABLE, True),
    _Rule(
        errors.ModelHTTPError,
        "http",
        "{name} answered {status}{detail}",
        True,
        when=lambda error, _: error.status_code >= 500,
    ),
    _Rule(errors.ModelHTTPError, "http", "{name} answered {status}{detail}"),
    _Rule(
        errors.ModelAPIError,
        "redirect",
        "{name}{at} redirects to another server; nothing was sent there. {hint}",
        when=lambda error, _: 300 <= getattr(error.__cause__, "status_code", 0) < 400,
    ),
    _Rule(errors.ModelAPIError, "malformed", _UNREADABLE, True, when=lambda _, detail: "as JSON" in detail),
    _Rule(errors.ModelAPIError, "provider", "{name} failed: {detail}", True),
    _Rule((OSError, httpx2.HTTPError, httpx2.StreamError), "connection", _BROKEN, True),
    _Rule(UnicodeEncodeError, "unsendable", "The request to {name} contains characters that cannot be sent{key}."),
    _Rule(Exception, "unexpected", "Unexpected error in this turn: {error}: {detail}"),
)


_WANTS_KEY: Final = "{name}{at} asks for a key, and none was sent: {detail}"


def read_failure(error: Exception, asked: RequestTarget) -> Failure:
    """Classify an error of a model run."""
    detail = _detail(error, asked.secrets)
    rule = next(each for each in _RULES if isinstance(error, each.errors) and each.when(error, detail))
    is_keyless = rule.kind == "authentication" and bool(asked.address) and not asked.key_source
    sentence = _sentence(_WANTS_KEY if is_keyless else rule.sentence, error, detail, asked)
    if advice := _key_advice(asked) if rule.kind == "authentication" else _ADVICE.get(rule.kind, ""):
        sentence = f"{sentence}{'' if sentence.endswith(('.', '!', '?', '…')) else '.'} {advice}"
    return Failure(
        kind=rule.kind,
        sentence=redact(sentence, asked.secrets),
        retryable=rule.retryable,
        status=getattr(error, "status_code", None),
        retry_after_s=getattr(error, "retry_after", None),
        detail=detail,
    )


def _sentence(template: str, error: Exception, detail: str, asked: RequestTarget) -> str:
    status = f"HTTP {getattr(error, 'status_code', None)}"
    return template.format(
        name=_name(asked),
        at=f" at {asked.address}" if asked.address else "",
        detail=detail,
        key=_key_source(asked),
        hint=_hint(asked),
        status="" if detail.startswith(status) else f"{status}: ",
        error=type(error).__name__,
    ).rstrip()


def _name(asked: RequestTarget) -> str:
    """The model's name, without an address that the sentence may add."""
    at = served(asked.model)
    return at.name if at is not None and at.address else short_name(asked.model)


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


def _key_source(asked: RequestTarget) -> str:
    provider = provider_of(asked.model)
    source = asked.key_source or " or ".join(provider.key_variables if provider else ())
    return f" in {source}" if source else ""


def _key_advice(asked: RequestTarget) -> str:
    """How to enter a key; only the server that base_url names gets one."""
    provider = provider_of(asked.model)
    if (at := served(asked.model)) is not None and at.address and not asked.key_source:
        return f"Set base_url to this address and add its key with /login, or {_ANOTHER}."
    if provider is None:
        return f"Set the right key and restart co-tui, or {_ANOTHER}."
    login = f"run `co-tui login {provider.prefix}`"
    if asked.key_source in provider.key_variables:
        return f"Enter another with /login, set the right one and restart co-tui, or {_ANOTHER}."
    return f"Enter another with /login, or {login}, or {_ANOTHER}."


def _hint(asked: RequestTarget) -> str:
    """What to check if there is no connection."""
    provider = provider_of(asked.model)
    if asked.model == EMBEDDED or provider is None:
        return ""
    if (at := served(asked.model)) is not None and at.address:
        return "Is the server running?"
    if not provider.address_variable or asked.address.startswith(OPENAI_ADDRESS):
        return "Are you online?"
    setting = "base_url or " if provider.address_variable == BASE_URL_VARIABLE else ""
    return f"Is the server running, and is {setting}{provider.address_variable} right?"
