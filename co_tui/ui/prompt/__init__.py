"""The prompt: writing, completing, queueing, earlier prompts."""
