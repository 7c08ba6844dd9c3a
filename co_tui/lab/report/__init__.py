"""The lab's results as one HTML page: tables, plots, and what each figure means."""
