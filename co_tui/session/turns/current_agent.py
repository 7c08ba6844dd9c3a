"""The agent whose run is executing: each delegation runs in its own task."""

from contextvars import ContextVar

CURRENT_AGENT: ContextVar[str] = ContextVar("current agent", default="")
"""Empty for the main agent; else the name under which a delegation is logged."""
