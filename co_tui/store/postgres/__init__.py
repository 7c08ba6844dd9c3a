"""Sessions in a PostgreSQL database, shared by several machines."""
