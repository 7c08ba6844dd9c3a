"""Keys: bindings from the tables, the user's own keys, and keys held until a screen is ready."""
