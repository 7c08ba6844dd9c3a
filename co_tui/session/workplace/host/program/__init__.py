"""What runs on the other host. It is sent there, so it imports only plain Python and what is sent along."""
