"""Questions above the prompt, approval rules, modes."""
