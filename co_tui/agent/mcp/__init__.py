"""MCP servers, which provide tools and are not trusted."""
