"""Import and export: conversations in other programs' formats.

May import `context`, `agent`, `store`, `events` and what is below; never `session` or a screen.
"""
