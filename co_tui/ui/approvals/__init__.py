"""Questions above the prompt, permission rules, modes."""
