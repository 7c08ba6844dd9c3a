"""Whose run it is that something happens in: each delegation runs in a task of its own."""

from contextvars import ContextVar

CURRENT_AGENT: ContextVar[str] = ContextVar("current agent", default="")
"""Empty in the main agent's run; else the name under which a delegation is logged."""
