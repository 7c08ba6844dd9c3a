"""What is kept: the event log, and the lists and searches over it, behind one port.

`port` is the interface; `sqlite` and `in_memory` implement it. May import `events` and what is below; never `context`
or `agent`. Reading loads in milliseconds, since the first paint needs it.
"""
