"""The tools a session offers its model."""
