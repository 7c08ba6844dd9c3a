"""Child processes: start, read, limit and stop them."""
