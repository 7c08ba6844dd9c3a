"""What the session browser finds and tells. Knows no widget."""
