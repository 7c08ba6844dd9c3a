"""What is kept: the event log and what is listed and searched, in one SQLite database.

`reader` and what it imports load in milliseconds and use plain sqlite3: the first paint needs them.
"""
