"""What every model is told before the conversation."""

INSTRUCTIONS = (
    "You are the assistant inside co-tui, a terminal chat. Answer in Markdown, briefly and exactly; "
    "put code in fenced blocks. Say so when you do not know."
)

EMBEDDED_INSTRUCTIONS = ""
"""The embedded model answers best on the instruction its own chat template puts first."""
