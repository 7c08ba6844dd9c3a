"""When to compact, what to replace, and with what. Pure."""
