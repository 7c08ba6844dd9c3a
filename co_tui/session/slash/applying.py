"""Apply a changed setting to a session."""

from typing import TYPE_CHECKING, Final

from co_tui.settings import Loaded

if TYPE_CHECKING:
    from co_tui.session.session import Session

NOW: Final = "now"
FROM_NEXT_SESSION: Final = frozenset({"model", "base_url", "request_timeout_s", "mode"})
FROM_NEXT_START: Final = frozenset({"telemetry", "retention_days", "database"})
AT_ONCE: Final = frozenset({"theme", "reduced_motion", "images", "keys"})
"""Settings read when a model is opened, when the app starts, and on every redraw; all others are read when needed."""


async def apply_setting(key: str, loaded: Loaded, session: "Session | None") -> str:
    """Apply changed settings to the open session; returns when the change of this key takes effect."""
    if key == "policy":
        if session is not None:
            await session.switcher.switch_policy(loaded.settings)
        return NOW
    if key in FROM_NEXT_START:
        return "after a restart"
    if key in FROM_NEXT_SESSION:
        return "to new sessions"
    if session is None or key in AT_ONCE:
        return NOW
    await session.switcher.apply_settings(loaded.settings)
    return "from the next turn on" if session.queue.busy else "from the next request on"
