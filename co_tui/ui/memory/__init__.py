"""Daily memory and the context board."""
