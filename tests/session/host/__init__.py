"""Work on another host."""
