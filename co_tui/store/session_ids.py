"""How sessions are named."""

import secrets
from datetime import UTC, datetime


def new_session_id() -> str:
    """Sorts by time, reads as a date, and does not collide between processes."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"
