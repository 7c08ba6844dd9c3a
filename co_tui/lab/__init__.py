"""Recorded conversations replayed under policies, on the session's own engine.

May import `session` and everything below; never `ui` or `headless`.
"""
