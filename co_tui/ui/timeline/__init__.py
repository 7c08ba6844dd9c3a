"""What happened in the session, in order."""
