"""co-tui: work with LLM agents in the terminal, with the context window in the open."""

__version__ = "0.2.0"
