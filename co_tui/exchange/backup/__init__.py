"""Everything of an installation in one file, and back: the logs of all sessions, and the files a person would miss."""
