"""Images as cells of text."""
