"""How sessions are named."""

import hashlib
import secrets
from datetime import UTC, datetime


def new_session_id() -> str:
    """Sorts by time, reads as a date, and does not collide between processes."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def stable_id(source: str, *identity: str) -> str:
    """The id of the session that a program knows under some identity."""
    digest = hashlib.sha256("\0".join((source, *identity)).encode(errors="replace")).hexdigest()
    return f"{source}-{digest[:16]}"
