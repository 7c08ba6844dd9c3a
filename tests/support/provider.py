"""A local HTTP server that answers as an OpenAI-compatible provider does, by script."""

import contextlib
import json
import re
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from typing import Any

from tests.support.counts import Counts
from tests.support.waiting import HANGING_S
from tests.support.wire_checks import UNBOUND, refused, signature, wire_at

"""The longest that a reply is held back for an event that never comes."""
PIECES = 2
"""A reply that comes without pauses comes in so many pieces; word by word a long one would only take time."""


ITEM_ID = re.compile(rb'"((?:rs|msg|fc)_\w+)"')
"""Ids of items in OpenAI's Responses; each reply gets its own, as there."""


@dataclass
class Reply:
    """One scripted answer to a chat request."""

    text: str = "Hello from the provider."
    prompt_tokens: int = 100
    """What is reported; -1 counts the request, four characters a token."""
    completion_tokens: int = 10
    """-1 counts the reply, when the provider has a way of counting."""
    cached_tokens: int = 0
    """Of those in the prompt, read from the provider's cache."""
    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    """Before the first word."""
    until: threading.Event | None = None
    """The first word is held back until this is set."""
    halfway: threading.Event | None = None
    """The second half is."""
    delay_s: float = 0.0
    """Between two words of the stream."""
    open_end: bool = False
    """After the last word nothing comes, not even the end, until the client leaves."""
    reset_after: int | None = None
    """Cut the connection after so many words."""
    garbage: bool = False
    tool: tuple[str, str] | None = None
    """Name and JSON arguments of a tool call after the text."""
    tools: tuple[tuple[str, str], ...] = ()
    """The same for several calls at once."""
    raw: tuple[bytes | float, ...] | None = None
    """The body exactly as it is sent, with pauses in seconds between its pieces; nothing is added to it."""


def count(messages: Any) -> int:
    """Tokens as this provider counts them: four characters each."""
    return len(json.dumps(messages)) // 4


def _body(message: str, **more: Any) -> str:
    return json.dumps({"error": {"message": message, **more}})


REFUSALS: dict[str, Callable[[int, int], tuple[int, str]]] = {
    "openai": lambda limit, sent: (
        400,
        _body(
            f"This model's maximum context length is {limit} tokens. However, your messages resulted in {sent} tokens. "
            "Please reduce the length of the messages.",
            code="context_length_exceeded",
        ),
    ),
    "anthropic": lambda limit, sent: (400, _body(f"prompt is too long: {sent} tokens > {limit} maximum")),
    "llama.cpp": lambda limit, sent: (
        400,
        _body(
            "the request exceeds the available context size, try increasing it",
            type="exceed_context_size_error",
            n_prompt_tokens=sent,
            n_ctx=limit,
        ),
    ),
    "413": lambda limit, sent: (413, _body("Request too large: prompt exceeds the context window")),
}
"""How providers say that a request is too long: status and body, from the limit and what was sent."""


class Provider:
    """Answers from a script, then with the default reply; remembers what it was asked.

    Requests for a summary, known by their header, are answered from `summaries`, then with `summary`.
    """

    def __init__(self) -> None:
        self.script: list[Reply] = []
        self.default = Reply()
        self.summaries: list[Reply] = []
        self.summary = Reply(text="Title: The talk so far\n## Decisions and outcomes\n- It was about the question.")
        self.summary_requests: list[dict[str, Any]] = []
        self.real_window: int | None = None
        """Above so many tokens a request is refused, in the way of `refusal`."""
        self.refusal = "openai"
        self.refused = 0
        self.broken_rules: list[str] = []
        """How it refused requests that break the rules of their wire, in the provider's own words."""
        self.stale_thoughts = 0
        """How many it refused for thoughts after a history that changed; the library then asks to drop them."""
        self.tokenizes = False
        """Whether it offers to count tokens: one a word."""
        self.tokenized: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        """The key of each of these."""
        self.counts: Counts | None = None
        """Its own way of counting; without one, four characters a token."""
        self.counted: list[int] = []
        """How many tokens each request had, those for summaries included."""
        self.caches = False
        """Whether it caches the last prompt, and reports what the next request reads of it. Needs `counts`."""
        self.cached: list[int] = []
        """How many tokens each request for a reply read from the cache."""
        self.summarise: Callable[[str], str] | None = None
        """Writes a summary from what it was asked, in place of the text of `summary`."""
        self.answered = 0
        """How many requests got their whole answer."""
        self.model_id = "scripted"
        self.window: int | None = 4096
        self.models: Reply | None = None
        """A scripted answer to the question for its models; only `until`, `raw`, `status` and `headers` count."""
        self.asked_models: list[dict[str, str]] = []
        """The headers of each such question."""
        self.native: Callable[[str, Any], Any] | None = None
        """What it answers at its own paths, by the path and what was posted; None for what is not there."""
        self.closed_early = threading.Event()
        self.closed_at = 0.0
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else an answer in two pieces takes 40 ms
            signature = UNBOUND

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                if provider.native is not None and not self.path.startswith("/v1/"):
                    self._answer_natively(None)
                    return
                provider.asked_models.append(dict(self.headers))
                if provider.models is not None:
                    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                        if provider.models.until:
                            self._wait(HANGING_S, provider.models.until)
                        self._send_raw(provider.models)
                    return
                entry: dict[str, Any] = {"id": provider.model_id, "object": "model"}
                if provider.window:
                    entry["meta"] = {"n_ctx": provider.window}
                self._send(200, json.dumps({"object": "list", "data": [entry]}).encode())

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path.startswith("/api/"):
                    self._answer_natively(asked)
                    return
                if self.path.endswith("/tokenize"):
                    self._tokenize(asked)
                    return
                if wire_at(self.path) == "anthropic":
                    self.signature = signature(asked)
                if (refusal := refused(self.path, asked)) is not None:
                    status, body = refusal
                    if b"bound to a different conversation" in body:
                        provider.stale_thoughts += 1
                    else:
                        provider.broken_rules.append(body.decode())
                    self._send(status, body)
                    return
                sent = provider.counts.request(asked) if provider.counts else count(asked.get("messages"))
                provider.counted.append(sent)
                if self.headers.get("X-Interaction-Type") == "conversation-compaction":
                    provider.summary_requests.append(asked)
                    reply = provider.summaries.pop(0) if provider.summaries else provider.summary
                    if provider.summarise is not None:
                        reply = replace(reply, text=provider.summarise(asked["messages"][-1]["content"]))
                else:
                    provider.cached.append(provider.read_from_cache(asked))
                    provider.requests.append(asked)
                    provider.keys.append(str(self.headers.get("Authorization", "")).removeprefix("Bearer "))
                    reply = replace(
                        provider.script.pop(0) if provider.script else provider.default,
                        cached_tokens=provider.cached[-1],
                    )
                if provider.real_window and sent > provider.real_window:
                    provider.refused += 1
                    status, text = REFUSALS[provider.refusal](provider.real_window, sent)
                    self._send(status, text.encode())
                    return
                if reply.prompt_tokens < 0:
                    reply = replace(reply, prompt_tokens=sent)
                if reply.completion_tokens < 0 and provider.counts:
                    reply = replace(reply, completion_tokens=provider.counts.reply(reply.text, reply.tool))
                try:
                    if reply.wait_s or reply.until:
                        self._wait(reply.wait_s or HANGING_S, reply.until or threading.Event())
                    if reply.raw is not None:
                        self._send_raw(reply)
                    elif reply.status != 200:
                        self._send(reply.status, reply.body.encode(), reply.headers)
                    else:
                        self._stream(reply)
                except (BrokenPipeError, ConnectionResetError):
                    provider.closed_early.set()
                    return
                provider.answered += 1

            def _answer_natively(self, asked: Any) -> None:
                answer = provider.native(self.path, asked) if provider.native is not None else None
                status = 404 if answer is None else 200
                self._send(status, json.dumps(answer if answer is not None else {"error": "not found"}).encode())

            def _send_raw(self, reply: Reply) -> None:
                self.close_connection = True
                self.send_response(reply.status)
                for name, value in {"Content-Type": "text/event-stream", **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                number = b"_%d" % len(provider.requests)
                for piece in reply.raw or ():
                    if isinstance(piece, bytes):
                        piece = piece.replace(UNBOUND.encode(), self.signature.encode())
                        self.wfile.write(ITEM_ID.sub(rb'"\g<1>%s"' % number, piece))
                        self.wfile.flush()
                    else:
                        self._wait(piece, threading.Event())

            def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Connection", "close")
                self.close_connection = True
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def _tokenize(self, asked: dict[str, Any]) -> None:
                """As llama.cpp does, when it does."""
                if not provider.tokenizes:
                    self._send(404, b"{}")
                    return
                provider.tokenized.append(asked["content"])
                self._send(200, json.dumps({"tokens": [1] * len(asked["content"].split())}).encode())

            def _wait(self, seconds: float, until: threading.Event) -> None:
                """Say nothing for a while, noticing when no one listens any more."""
                latest = time.monotonic() + seconds
                while time.monotonic() < latest and not until.is_set():
                    readable, _, _ = select.select([self.connection], [], [], 0.01)
                    if readable and not self.connection.recv(1, socket.MSG_PEEK):
                        provider.closed_at = time.monotonic()
                        provider.closed_early.set()
                        raise ConnectionResetError

            def _stream(self, reply: Reply) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                self.close_connection = True
                if reply.garbage:
                    self.wfile.write(b"data: {this is not json\n\n")
                    return
                for count, chunk in enumerate(_chunks(reply)):
                    if reply.open_end and chunk["choices"][0]["finish_reason"]:
                        self._wait(HANGING_S, threading.Event())
                    if reply.halfway is not None and count == 1 + PIECES // 2:
                        self._wait(HANGING_S, reply.halfway)
                    if reply.reset_after == count:
                        # A reset, not an orderly end: linger 0 makes close() send RST.
                        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        self.connection.close()
                        return
                    self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                    self.wfile.flush()
                    if reply.delay_s:
                        time.sleep(reply.delay_s)
                self.wfile.write(b"data: [DONE]\n\n")

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            stopped = False

            def serve_until_stopped(self) -> None:
                while not self.stopped:
                    self.handle_request()

            def verify_request(self, *_: Any) -> bool:
                return not self.stopped

            def handle_error(self, *_: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def read_from_cache(self, asked: dict[str, Any]) -> int:
        """Of this request, what begins as the one before did: tools first, then message by message."""
        if not self.caches or self.counts is None or not self.requests:
            return 0
        before = self.requests[-1]
        if before.get("tools") != asked.get("tools"):
            return 0
        pairs = zip(before["messages"], asked["messages"], strict=False)
        same = [message for message, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
        return self.counts.request({"messages": same, "tools": asked.get("tools", ())})

    @contextmanager
    def serving(self) -> Iterator["Provider"]:
        thread = threading.Thread(target=self._server.serve_until_stopped, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.stopped = True
            with contextlib.suppress(OSError):
                socket.create_connection(self._server.server_address).close()  # wakes it
            thread.join()
            self._server.server_close()


def _pieces(reply: Reply) -> Iterator[str]:
    words = [word + " " for word in reply.text.split(" ")]
    whole = not reply.delay_s and reply.reset_after is None
    size = -(-len(words) // PIECES) if whole else 1
    return ("".join(words[start : start + size]) for start in range(0, len(words), size))


def _chunks(reply: Reply) -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": "scripted",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(reply):
        yield chunk({"content": piece})
    calls = [*([reply.tool] if reply.tool else []), *reply.tools]
    for n, (name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": arguments}
        # The same ids in every reply, as some servers do.
        yield chunk({"tool_calls": [{"index": n, "id": f"call_{n + 1}", "type": "function", "function": function}]})
    yield chunk({}, "tool_calls" if calls else "stop")
    usage = {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "total_tokens": reply.prompt_tokens + reply.completion_tokens,
        **({"prompt_tokens_details": {"cached_tokens": reply.cached_tokens}} if reply.cached_tokens else {}),
    }
    yield {**chunk({}), "choices": [], "usage": usage}
