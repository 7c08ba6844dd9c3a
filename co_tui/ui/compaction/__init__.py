"""A compaction while it runs, and opened afterwards."""
