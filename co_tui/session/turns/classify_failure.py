"""Classify a failed request: by the library, and by us where it does not recognise a full window."""

import json

from co_tui.agent.wire import overflow
from co_tui.agent.wire.overflow import Overflow
from co_tui.agent.wire.request_failures import Failure, RequestTarget, read_failure


def classify(error: Exception, asked: RequestTarget) -> tuple[Failure, Overflow | None]:
    """The failure, and if the window was exceeded, the sizes it names.

    The library recognises only about half of the providers' messages.
    """
    failure = read_failure(error, asked)
    if failure.kind in ("steps", "length", "filtered"):
        return failure, None  # our limit or the reply's, not the window's
    found = _overflow(failure.status, error)
    if failure.kind == "context_limit":
        return failure, found or Overflow()
    if found is None:
        return failure, None
    return failure._replace(kind="context_limit", retryable=False), found


def _overflow(status: int | None, error: Exception) -> Overflow | None:
    body = getattr(error, "body", None)
    try:
        text = body if isinstance(body, str) else json.dumps(body, default=str) if body is not None else str(error)
        return overflow.read(status, text)
    except RecursionError:  # no real error is nested that deep
        return None
