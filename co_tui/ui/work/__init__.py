"""What runs in the background, what was delegated, and the plan."""
