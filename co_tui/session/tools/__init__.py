"""The tools a session itself gives its model."""
