"""The user's hooks: commands that run at an event and may refuse, change or add something."""
