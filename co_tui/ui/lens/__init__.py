"""The context lens: the next request, message by message."""
