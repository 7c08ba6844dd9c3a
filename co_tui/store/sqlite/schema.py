"""Which schema this co-tui knows."""

SCHEMA_VERSION = 2
"""Kept in `PRAGMA user_version`; equals the number of migrations."""
