"""`co-tui acp`: serve one editor on the standard streams until it leaves."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from acp.agent.router import build_agent_router
from acp.core import Connection, RequestError
from acp.meta import AGENT_METHODS
from acp.schema import DeleteSessionRequest
from acp.utils import normalize_result
from pydantic import ValidationError

from co_tui.headless.acp.agent import INVALID, Agent
from co_tui.headless.acp.editor import Editor
from co_tui.headless.acp.message_lines import FLUSH_S, MessageLines, protocol_streams
from co_tui.headless.output import DONE, INTERRUPTED, WRONG_USAGE, CommandContext, say
from co_tui.headless.stopping import on_stop

NO_PIPES: Final = "An editor starts `co-tui acp` and talks to it through pipes. Add it to your editor's agents."
NOT_INTRODUCED: Final = "Send initialize first."
METHOD_NOT_FOUND, INVALID_REQUEST = -32601, -32600
Route = Callable[[str, Any, bool], Awaitable[Any]]


def acp(context: CommandContext, environ: Mapping[str, str], given: Mapping[str, Any]) -> int:
    return asyncio.run(_serve(context, environ, given))


async def _serve(context: CommandContext, environ: Mapping[str, str], given: Mapping[str, Any]) -> int:
    try:
        lines = MessageLines(*await protocol_streams())
    except (OSError, ValueError):
        say(NO_PIPES)
        return WRONG_USAGE
    requests = _Requests()
    connection = Connection(requests.handle, lines, listening=False)
    agent = requests.agent = Agent(Editor(connection), context, environ, given)
    requests.route = _routes(agent)
    serving = asyncio.create_task(connection.main_loop())
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()

    def stop() -> None:
        stopped.set()
        loop.call_soon_threadsafe(serving.cancel)

    try:
        with on_stop(stop):
            await asyncio.wait({serving})
        return INTERRUPTED if stopped.is_set() else DONE
    finally:
        lines.leave()
        await agent.close()
        await requests.answered()
        with contextlib.suppress(ConnectionError):
            await connection.close()
        await asyncio.to_thread(context.store.close)


class _Requests:
    """Passes what the editor sends to the agent, and knows what is being answered."""

    def __init__(self) -> None:
        self.agent: Agent | None = None
        self.route: Route | None = None
        """Known once there is an agent; nothing is read before."""
        self._running: set[asyncio.Task[Any]] = set()

    async def handle(self, method: str, params: Any, is_notification: bool) -> Any:
        assert self.agent is not None and self.route is not None
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        if not self.agent.is_initialized and method != AGENT_METHODS["initialize"]:
            raise RequestError(INVALID_REQUEST, NOT_INTRODUCED)
        try:
            return await self.route(method, params, is_notification)
        except ValidationError as error:
            raise RequestError(INVALID, f"{method}: {_first_fault(error)}") from None
        except RequestError as error:
            if is_notification and error.code == METHOD_NOT_FOUND:  # one may be sent to agents that do not know it
                return None
            raise

    async def answered(self) -> None:
        """Wait until what was asked is answered, but not for long."""
        if self._running:
            await asyncio.wait(set(self._running), timeout=FLUSH_S)


def _routes(agent: Agent) -> Route:
    route = build_agent_router(agent, use_unstable_protocol=True)  # type: ignore[arg-type]
    # The library lists the method but does not route it yet.
    route.route_request(
        AGENT_METHODS["session_delete"], DeleteSessionRequest, agent, "delete_session", adapt_result=normalize_result
    )
    return route


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_context=False, include_input=False, include_url=False)[0]
    return f"{'.'.join(map(str, fault['loc'])) or 'params'}: {fault['msg']}."
