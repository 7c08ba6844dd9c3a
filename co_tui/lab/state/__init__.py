"""Where the work of a recorded conversation stands, and how much of it a request states."""
