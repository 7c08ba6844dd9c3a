"""The commands that need no screen: data to standard output, words for people to standard error."""
