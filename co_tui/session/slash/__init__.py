"""Slash commands: the built-in ones that need no screen, and those from files and MCP servers, which write a prompt."""
