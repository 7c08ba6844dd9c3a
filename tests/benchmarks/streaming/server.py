"""A server with OpenAI's chat interface that streams what the prompt asks for, in a process of its own."""

import contextlib
import json
import socket
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.benchmarks.streaming.replies import CHUNK_CHARS, wanted_in
from tests.support.wire_checks import refused

CONTEXT_TOKENS = 1_000_000
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        entry = {"id": "scripted", "object": "model", "meta": {"n_ctx": CONTEXT_TOKENS}}
        self._answer(200, {"object": "list", "data": [entry]})

    def _answer(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/chat/completions"):
            self._answer(404, {})
            return
        if (refusal := refused(self.path, asked)) is not None:
            self._answer(refusal[0], json.loads(refusal[1]))
            return
        last = next(each["content"] for each in reversed(asked["messages"]) if each["role"] == "user")
        is_reply = "X-Interaction-Type" not in self.headers
        wanted = wanted_in(last if isinstance(last, str) else json.dumps(last)) if is_reply else None
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(ConnectionError):  # the app has ended
            self._send(wanted.text if wanted else "A short title", wanted.per_s if wanted else 0)

    def _send(self, text: str, per_s: int) -> None:
        start = time.monotonic()
        for n, chunk in enumerate(_chunks(text)):
            if per_s and (early_s := start + n / per_s - time.monotonic()) > 0:
                time.sleep(early_s)
            self.connection.sendall(f"data: {json.dumps(chunk)}\n\n".encode())
        self.connection.sendall(b"data: [DONE]\n\n")


def _chunks(text: str) -> Iterator[dict[str, Any]]:
    same = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "scripted"}

    def chunk(delta: dict[str, str], finish: str | None = None) -> dict[str, Any]:
        return {**same, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for at in range(0, len(text), CHUNK_CHARS):
        yield chunk({"content": text[at : at + CHUNK_CHARS]})
    yield chunk({}, "stop")
    yield {**same, "choices": [], "usage": USAGE}


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    sys.stdin.close()
    server.serve_forever()
