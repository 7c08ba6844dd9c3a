"""What the model sees: pure functions over messages, run before every request.

May import `events` and what is below; never `agent`, `store`, `session` or a screen.
"""
