"""Snapshots of the session's folder, kept outside of it, so that files can be brought back (T7)."""
