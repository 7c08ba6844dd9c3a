"""The conversation as one line-rendered widget."""
