"""Models, how to reach them, what their failures mean, and which tool calls they may make.

May import `events`, `settings` and the root modules below them.
"""
