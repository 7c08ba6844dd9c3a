"""`co-tui acp`: serve one editor on the standard streams until it leaves."""

import asyncio
import contextlib
import sys
from collections.abc import Mapping
from typing import Any, Final

from acp.agent.router import build_agent_router
from acp.core import Connection
from acp.meta import AGENT_METHODS
from acp.schema import DeleteSessionRequest
from acp.stdio import stdio_streams
from acp.utils import normalize_result

from co_tui.headless.acp.agent import Agent
from co_tui.headless.acp.editor import Editor
from co_tui.headless.output import DONE, INTERRUPTED, CommandContext
from co_tui.headless.stopping import on_stop

MOST_MESSAGE_BYTES: Final = 64_000_000


def acp(context: CommandContext, environ: Mapping[str, str], given: Mapping[str, Any]) -> int:
    return asyncio.run(_serve(context, environ, given))


async def _serve(context: CommandContext, environ: Mapping[str, str], given: Mapping[str, Any]) -> int:
    reader, writer = await stdio_streams(limit=MOST_MESSAGE_BYTES)
    _keep_prints_out()

    async def handle(method: str, params: Any, is_notification: bool) -> Any:
        return await route(method, params, is_notification)

    connection = Connection(handle, writer, reader, listening=False)
    editor = Editor(connection)
    agent = Agent(editor, context, environ, given)
    route = build_agent_router(agent, use_unstable_protocol=True)  # type: ignore[arg-type]
    # The library lists the method but does not route it yet.
    route.route_request(
        AGENT_METHODS["session_delete"], DeleteSessionRequest, agent, "delete_session", adapt_result=normalize_result
    )
    serving = asyncio.create_task(connection.main_loop())
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.call_soon_threadsafe(serving.cancel)

    try:
        with on_stop(stop):
            await asyncio.wait({serving})
        return INTERRUPTED if serving.cancelled() else DONE
    finally:
        await agent.close()
        with contextlib.suppress(ConnectionError):
            await connection.close()
        await asyncio.to_thread(context.store.close)


def _keep_prints_out() -> None:
    """Only the protocol may use standard output: what else is printed goes to standard error."""
    sys.stdout = sys.stderr
