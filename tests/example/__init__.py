"""The example session of the package, recorded from a scripted job: `uv run python -m tests.example`."""
