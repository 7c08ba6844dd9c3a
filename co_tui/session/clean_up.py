"""Cleaning up old sessions beside the work, as the settings say, and what is told of it."""

from datetime import UTC, datetime

from co_tui.session.event_wording import told_clean_up
from co_tui.settings import Loaded
from co_tui.store.housekeeping import clean_up, planned_clean_up
from co_tui.store.port import Store
from co_tui.store.store_errors import StoreError


def clean_up_now(store: Store, loaded: Loaded) -> str:
    """Do what is due; returns what to tell of it, which is mostly nothing. Never raises: it can wait."""
    days = loaded.settings.retention_days
    try:
        what = planned_clean_up(store, retention_days=days, policy=policy_that_says_so(loaded), now=datetime.now(UTC))
        return told_clean_up(clean_up(store, what), days) if what else ""
    except (StoreError, OSError) as error:
        return f"Old sessions were not cleaned up: {error}"


def policy_that_says_so(loaded: Loaded) -> str:
    """What a policy says about old sessions holds for its own; what the user says, for all (then empty)."""
    is_of_policy = loaded.origins["retention_days"].source == f"policy {loaded.settings.policy}"
    return loaded.settings.policy if is_of_policy else ""
