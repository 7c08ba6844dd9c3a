"""The context board of a repository and branch: what a session takes from it and leaves there."""
