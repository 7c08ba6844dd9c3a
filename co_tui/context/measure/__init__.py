"""Count tokens, corrected by what providers report."""
