"""What one can choose from, as rows. Knows no widget."""
