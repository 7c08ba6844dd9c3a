"""Models that run on this machine: the embedded one and GGUF files."""
