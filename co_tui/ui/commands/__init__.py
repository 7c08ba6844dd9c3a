"""The commands that open a screen: a function in the module of its group for each. `session/slash/` has the others."""
