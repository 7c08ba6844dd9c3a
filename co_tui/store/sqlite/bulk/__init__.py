"""Changes of any size in short transactions: what is half done is hidden, and cleaned up after a crash."""
