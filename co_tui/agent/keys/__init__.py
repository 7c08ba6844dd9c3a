"""Providers' keys: where they are kept, and whether they work."""
