"""Push sessions to a server and pull them from it. Without a server, everything stays on this machine."""
