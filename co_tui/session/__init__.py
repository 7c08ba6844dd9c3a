"""The conversation: its state, its turns, and the events they become."""
