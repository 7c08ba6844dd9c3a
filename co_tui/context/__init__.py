"""What the model sees: pure steps over messages, run before every request."""
