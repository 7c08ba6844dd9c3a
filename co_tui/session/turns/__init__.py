"""Turns and delegations: from a logged prompt to the end of the reply."""
