"""The session browser."""
