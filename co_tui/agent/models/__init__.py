"""Find and open models, and what each supports and costs."""
