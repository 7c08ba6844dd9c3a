"""The work journal: the steps of a conversation, read and written down so that work can go on without them."""
