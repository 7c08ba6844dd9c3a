"""Commands about stored sessions: list, show, measure, import and export them."""
