"""The context lens: the next request, message by message, with what the policy does to each."""
