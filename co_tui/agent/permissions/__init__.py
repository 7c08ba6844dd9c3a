"""Decide which tool calls run, which need approval, and which are refused."""
