"""In and out: conversations in other programs' formats."""
