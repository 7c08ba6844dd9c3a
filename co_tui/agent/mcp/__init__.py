"""MCP servers: programs and addresses that bring tools of their own, none of them trusted."""
