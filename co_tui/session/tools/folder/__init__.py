"""The tools that read and change the session's folder."""
