"""What is kept: the event log and what is listed and searched, behind one port.

`port` defines reading and writing; `sqlite` implements it, on disk and in memory. `notes` holds texts in files.
Reading and what it imports loads in milliseconds: the first paint needs it.
"""
