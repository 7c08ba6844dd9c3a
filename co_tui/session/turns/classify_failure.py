"""What a failed request means: the library's view, and ours of what it does not recognise."""

import json
from dataclasses import replace

from co_tui.agent.wire import overflow
from co_tui.agent.wire.overflow import Overflow
from co_tui.agent.wire.request_failures import Failure, RequestTarget, read_failure


def classify(error: Exception, asked: RequestTarget) -> tuple[Failure, Overflow | None]:
    """The failure in words, and when it means that the window is exceeded, the figures it names.

    The library knows about half of the ways in which providers say so.
    """
    failure = read_failure(error, asked)
    if failure.kind in ("steps", "length"):
        return failure, None  # a limit of ours or of the reply, not of the window
    found = _overflow(failure.status, error)
    if failure.kind == "context_limit":
        return failure, found or Overflow()
    if found is None:
        return failure, None
    return replace(failure, kind="context_limit", retryable=False), found


def _overflow(status: int | None, error: Exception) -> Overflow | None:
    body = getattr(error, "body", None)
    try:
        text = body if isinstance(body, str) else json.dumps(body, default=str) if body is not None else str(error)
        return overflow.read(status, text)
    except RecursionError:  # nobody nests a sentence about a window that deep
        return None
