"""An MCP server at an address, made with the protocol's own library, and one that redirects."""

import contextlib
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Headers = dict[str, str]


@contextlib.contextmanager
def mcp_over_http() -> Iterator[tuple[str, list[Headers]]]:
    """Its address, and the headers of every request that came."""
    import uvicorn  # both load for a second, and few tests need them
    from mcp.server.mcpserver import MCPServer

    seen: list[Headers] = []
    server = MCPServer("over-http")

    @server.tool()
    def double(number: int) -> int:
        """Twice the number."""
        return number * 2

    @server.tool()
    def flood() -> str:
        return "a" * 50_000_000

    inner = server.streamable_http_app()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.append({key.decode(): value.decode() for key, value in scope["headers"]})
        await inner(scope, receive, send)

    config = uvicorn.Config(app, port=0, log_level="critical", lifespan="on", timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    port = running.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp", seen
    finally:
        running.should_exit = True
        thread.join()


@contextlib.contextmanager
def sending_to(address: str, status: int = 307) -> Iterator[str]:
    class Elsewhere(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(status)
            if status == 307:
                self.send_header("Location", address)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
