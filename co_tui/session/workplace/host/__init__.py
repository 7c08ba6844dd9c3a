"""Work on another host: the conversation stays here, files and commands are there, reached by the user's own ssh."""
