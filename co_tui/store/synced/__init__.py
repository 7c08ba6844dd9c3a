"""Files that are the same on every machine that uses a database."""
