"""The commands without a screen: data to standard output, messages to standard error.

May import `lab`, `session` and everything below; never `ui` or Textual.
"""
