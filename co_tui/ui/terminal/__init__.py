"""The terminal: drivers, input parsing, output fixes, and what is known about it."""
