"""What a folder or its user has for Claude Code: its settings files, MCP servers and instructions.

All of it may have come with a clone, so it is read as data: bounded, without following links out of the folder, and
used only once the folder is trusted.
"""
