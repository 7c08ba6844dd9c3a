"""Which models there are, how to open one, and what each can do and costs."""
