"""What all events of a session add up to."""
