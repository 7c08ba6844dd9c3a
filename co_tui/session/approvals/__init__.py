"""What somebody has to allow first, and what is allowed for longer."""
