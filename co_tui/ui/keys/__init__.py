"""Keys: which count where, which the user chose, which wait for a screen."""
