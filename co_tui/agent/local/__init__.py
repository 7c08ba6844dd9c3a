"""Models that run on this machine: the embedded one and files of weights."""
