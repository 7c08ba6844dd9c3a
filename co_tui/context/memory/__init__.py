"""What a conversation has named, and which lines to bring back."""
