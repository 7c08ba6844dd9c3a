"""While the server is away: what is said is kept in a file here, and handed over when it is back."""
