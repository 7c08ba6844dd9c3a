"""One turn: from a logged prompt to the end of the reply."""
