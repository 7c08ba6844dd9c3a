"""The PostgreSQL server that sessions are pushed to and pulled from."""
