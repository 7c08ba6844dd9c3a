"""Compaction: replacing older messages by a summary."""
