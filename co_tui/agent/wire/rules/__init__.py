"""The rules that each provider's wire has for a request."""
