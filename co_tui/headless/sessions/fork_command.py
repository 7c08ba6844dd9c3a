"""`co-tui sessions --fork`: copy a session, one's own or one that another user shares."""

import asyncio

from co_tui.agent.mcp.servers import McpServers
from co_tui.headless.open_session import SessionOpening, environment_of
from co_tui.headless.output import DONE, put, say
from co_tui.session.forking import fork_stored


def fork(opening: SessionOpening) -> int:
    """Print the id of the copy. Raises `StoreError`."""
    copy = asyncio.run(fork_stored(environment_of(opening, McpServers()), opening.session_id))
    say(f"Forked. The original is unchanged. `co-tui --resume {copy}` opens the copy:")
    put(copy)
    return DONE
