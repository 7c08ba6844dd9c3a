"""Agents and commands that users define in Markdown files."""
