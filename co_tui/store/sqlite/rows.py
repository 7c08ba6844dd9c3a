"""Which rows belong together, for reading and for writing alike."""

ALL_SEQS = 1 << 62
"""Larger than any seq."""

REPLY_SLOT = "reply"
"""Of the first row of a reply in the making; those that follow have a number behind it."""
REPLY_SLOTS = (REPLY_SLOT, f"{REPLY_SLOT}#*")
OF_REPLY = "session_id = ? AND (slot = ? OR slot GLOB ?)"
REPLY_ROWS = f"SELECT body FROM drafts WHERE {OF_REPLY} ORDER BY slot"
