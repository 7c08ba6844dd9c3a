"""Work in a folder of this machine."""
