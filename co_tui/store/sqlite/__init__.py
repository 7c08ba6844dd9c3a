"""The store in one SQLite database, with locks of the operating system."""
