"""The terminal: what it is given before and beside the app's own drawing, and what comes from it."""
