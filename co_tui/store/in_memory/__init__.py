"""A store without any file: for private windows, for the lab and for tests. What it holds ends with it."""
