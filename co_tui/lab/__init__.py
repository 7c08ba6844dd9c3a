"""What if: recorded conversations replayed under policies, as if they were happening."""
