"""co-tui: talk with LLM agents in the terminal, with the context window in the open."""

__version__ = "0.1.0"
