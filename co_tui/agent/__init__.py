"""Models: how they are reached, which tools and permissions they get, and what their errors mean.

May import `events` and what is below; never `context`, `store`, `session` or a screen.
"""
