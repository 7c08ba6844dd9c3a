"""HTTP with providers: requests, replies, and the meaning of errors."""
