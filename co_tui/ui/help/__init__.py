"""Help and the command palette."""
