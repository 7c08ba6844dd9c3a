"""What helps while a prompt is written. Knows no widget."""
