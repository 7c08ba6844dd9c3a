"""`co-tui run` for scripts that were written for Claude Code: prompts and results as JSON lines."""
