"""The full-screen app, the only package that imports Textual.

May import `session` and everything below but SQLite; never `headless`. Before the first paint it imports nothing heavy.
"""
