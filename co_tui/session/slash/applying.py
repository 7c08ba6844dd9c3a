"""Apply a changed setting to a session."""

from typing import TYPE_CHECKING, Final

from co_tui.events.model_names import short_name
from co_tui.inert import one_line
from co_tui.settings import Loaded

if TYPE_CHECKING:
    from co_tui.session.session import Session

NOW: Final = "now"
FROM_NEXT_SESSION: Final = frozenset({"model", "base_url", "request_timeout_s", "mode"})
FROM_NEXT_START: Final = frozenset({"telemetry", "retention_days", "database"})
LIMITS: Final = frozenset({"max_session_cost", "max_daily_cost"})
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
    holds = "from the next turn on" if session.queue.busy else "from the next request on"
    return holds + (_limit_note(session) if key in LIMITS and getattr(loaded.settings, key) else "")


def _limit_note(session: "Session") -> str:
    """Whether a limit on spending can work with the session's model."""
    from co_tui.agent.models.prices import Pricing, pricing_of

    asked = session.history.asked
    model = one_line(short_name(asked.model), 60)
    return {
        Pricing.PUBLISHED: "",
        Pricing.ASSUMED: f"; the price of {model} is assumed from the catalogue, for session limits only",
        Pricing.FREE: f"; {model} runs here and costs nothing",
        Pricing.UNKNOWN: f"; it does not count {model}, whose price is unknown",
    }[pricing_of(asked.model, asked.address)]
