"""The conversation: its state, its turns, and the events they record.

May import `exchange`, `context`, `agent`, `store`, `events` and what is below; never a screen or SQLite.
"""
