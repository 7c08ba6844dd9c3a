"""The steps from a history to one request that fits."""
