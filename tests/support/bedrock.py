"""Amazon Bedrock's Converse wire: the library's own model, with a client that posts to the local provider.

The client replaces boto3's, which is not installed. It sends what the library hands to boto3 as JSON, and reads
the reply's events as one JSON object a line; AWS frames them differently, but boto3 gives the library the same objects.
"""

import contextlib
import importlib
import json
import socket
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import httpx2
from pydantic_ai.models import Model

MODEL = "anthropic.claude-sonnet-4-5-20250929-v1:0"


class _Module(ModuleType):
    """A module that has every class it is asked for, all of them errors, so that they can be raised and caught."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, type(name, (Exception,), {}))
        return getattr(self, name)


PARTS = ("client", "config", "eventstream", "exceptions", "model", "session", "tokens")
STOOD_IN = ("boto3", "botocore", *(f"botocore.{name}" for name in PARTS), "urllib3", "urllib3.exceptions")


@cache
def _library() -> tuple[ModuleType, ModuleType]:
    """The library's modules for Bedrock. Those of boto3 are only there while they are imported."""
    loaded = ("pydantic_ai.providers.bedrock", "pydantic_ai.models.bedrock")
    before = {name: sys.modules.get(name) for name in (*STOOD_IN, *loaded)}
    sys.modules.update({name: _Module(name) for name in STOOD_IN})
    try:
        providers, models = (importlib.import_module(name) for name in loaded)
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    return providers, models


class _Events:
    """The events of a reply, as boto3 gives them."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.body = connection.makefile("rb")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with self.body:
            while line := self.body.readline():
                yield json.loads(line)

    def close(self) -> None:
        """Also ends a read that waits in another thread."""
        with contextlib.suppress(OSError):  # the other side ended it
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def __del__(self) -> None:
        """A caller that is cancelled while it asks never reads it."""
        self.close()
        self.body.close()


class _Client:
    """Has what the library uses of boto3's client."""

    def __init__(self, url: str, error: type[Exception]) -> None:
        self._error = error
        self._handlers: dict[str, Any] = {}
        events = SimpleNamespace(register_first=lambda name, handler, unique_id: self._handlers.update({name: handler}))
        self.meta = SimpleNamespace(endpoint_url=url, events=events)

    def converse_stream(self, **asked: Any) -> dict[str, Any]:
        headers: dict[str, str] = {}
        context: dict[str, Any] = {}
        self._handlers["provide-client-params.bedrock-runtime.ConverseStream"](context=context)
        self._handlers["before-call.bedrock-runtime.ConverseStream"](params={"headers": headers}, context=context)
        host, port = urlsplit(self.meta.endpoint_url).netloc.split(":")
        connection = socket.create_connection((host, int(port)))
        headers["Content-Length"] = str(len(body := json.dumps(asked).encode()))
        lines = [f"POST /model/{MODEL}/converse-stream HTTP/1.1", *(f"{name}: {headers[name]}" for name in headers)]
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        stream = _Events(connection)
        status = int(stream.body.readline().split()[1])
        while stream.body.readline().strip():
            pass  # the answer's headers
        if status != 200:
            failed = self._error()
            failed.response = {  # type: ignore[attr-defined]
                "Error": {"Code": "ValidationException", "Message": json.loads(stream.body.read()).get("message")},
                "ResponseMetadata": {"HTTPStatusCode": status},
            }
            raise failed
        return {"stream": stream, "ResponseMetadata": {"RequestId": "r1", "HTTPHeaders": {}}}


def bedrock(url: str, _: httpx2.AsyncClient) -> Model:
    providers, models = _library()
    client = _Client(url, models.ClientError)
    model: Model = models.BedrockConverseModel(MODEL, provider=providers.BedrockProvider(bedrock_client=client))
    return model


def events(
    thoughts: Sequence[str], text: str, calls: Sequence[tuple[str, str, str]], *, too_long: bool
) -> Iterator[bytes]:
    """A reply as it streams."""
    end = "max_tokens" if too_long else "tool_use" if calls else "end_turn"
    blocks: list[list[dict[str, Any]]] = [
        *(
            [_delta(reasoningContent={"text": each}), _delta(reasoningContent={"signature": "c2ln"})]
            for each in thoughts
        ),
        *([[_delta(text=text)]] if text else []),
        *(
            [
                {"contentBlockStart": {"start": {"toolUse": {"toolUseId": id, "name": tool}}}},
                _delta(toolUse={"input": given}),
            ]
            for id, tool, given in calls
        ),
    ]
    yield _line({"messageStart": {"role": "assistant"}})
    for n, block in enumerate(blocks):
        for event in (*block, {"contentBlockStop": {}}):
            yield _line({name: {"contentBlockIndex": n, **value} for name, value in event.items()})
    yield _line({"messageStop": {"stopReason": end}})
    yield _line({"metadata": {"usage": {"inputTokens": 5, "outputTokens": 3, "totalTokens": 8}}})


def _delta(**delta: Any) -> dict[str, Any]:
    return {"contentBlockDelta": {"delta": delta}}


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event).encode() + b"\n"
