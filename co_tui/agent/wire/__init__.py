"""HTTP with providers: requests, replies, and what their errors mean."""
