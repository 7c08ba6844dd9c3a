"""The pictures of the README, made from real screens: `uv run python -m tests.demo`."""
