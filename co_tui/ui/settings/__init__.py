"""The settings screen, and trusting a folder's settings."""
