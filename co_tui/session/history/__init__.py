"""The history as one model gets it, measured and changed."""
