"""Colours, contrast, and whether things may move."""
