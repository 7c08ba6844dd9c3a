"""How full the context is."""
