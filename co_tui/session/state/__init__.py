"""The state of a session, derived from its events."""
