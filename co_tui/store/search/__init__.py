"""Which sessions and messages match a search, independent of the database."""
