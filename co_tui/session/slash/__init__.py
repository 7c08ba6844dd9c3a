"""Slash commands that write a prompt: from files and from MCP servers."""
