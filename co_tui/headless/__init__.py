"""The commands that need no screen: data to standard output, messages for people to standard error."""
