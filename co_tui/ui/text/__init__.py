"""Rendering text to lines: Markdown, code, long texts, and searching them."""
