"""What is kept: the event log and what is listed and searched, behind one port.

`port` says what can be asked and written; `sqlite` and `in_memory` are its implementations. Asking and what it
imports loads in milliseconds: the first paint needs it.
"""
