"""Web pages and searches for the model."""
