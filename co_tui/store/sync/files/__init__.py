"""Files of sessions, projects and users, equal on all machines that share a server."""
