"""The open session: load it, send to it, ask for it, switch and close it."""
