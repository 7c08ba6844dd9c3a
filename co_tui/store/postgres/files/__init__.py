"""Files of sessions, projects and users in the database; those on this machine are copies."""
