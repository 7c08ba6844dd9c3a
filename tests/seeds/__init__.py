"""The behaviours of the four systems that the policies come from, one case each."""
