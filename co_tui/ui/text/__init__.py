"""Text as lines: Markdown, code, long texts, and finding in them."""
