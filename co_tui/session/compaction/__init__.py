"""How a conversation is made smaller."""
