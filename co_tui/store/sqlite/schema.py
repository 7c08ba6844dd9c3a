"""Which schema this co-tui knows."""

SCHEMA_VERSION = 3
"""Kept in `PRAGMA user_version`; equals the number of migrations."""
