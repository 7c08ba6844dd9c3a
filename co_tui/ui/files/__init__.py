"""The files that a session changed: what changed, and bringing them back."""
