"""Clean up old sessions in the background, as the settings say."""

from datetime import UTC, datetime

from co_tui.paths import Paths
from co_tui.session.event_wording import clean_up_text
from co_tui.session.snapshots.storage import bound_snapshots
from co_tui.settings import Loaded
from co_tui.store.housekeeping import clean_up, planned_clean_up
from co_tui.store.port import Store
from co_tui.store.store_errors import StoreError


def clean_up_now(store: Store, loaded: Loaded, paths: Paths) -> str:
    """Clean up if needed; returns a sentence about it, or an empty text. Never raises: it can wait."""
    days = loaded.settings.retention_days
    try:
        what = planned_clean_up(store, retention_days=days, policy=retention_policy(loaded), now=datetime.now(UTC))
        done = clean_up_text(clean_up(store, what), days) if what else ""
        return " ".join(filter(None, (done, bound_snapshots(paths, store.claimed()))))
    except (StoreError, OSError) as error:
        return f"Cannot clean up old sessions: {error}"


def retention_policy(loaded: Loaded) -> str:
    """The policy whose retention applies, to its own sessions only; empty if the user set it, for all sessions."""
    is_from_policy = loaded.origins["retention_days"].source == f"policy {loaded.settings.policy}"
    return loaded.settings.policy if is_from_policy else ""
