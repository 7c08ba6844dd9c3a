"""Exact counts, where a server of the user's own offers them."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from co_tui.agent.models.open_model import ModelConfig, open_model
from co_tui.agent.models.server_counting import TokenCounter
from tests.support.long_run import only_in_a_long_run


class Counting(ThreadingHTTPServer):
    """Counts words at `/tokenize`, in a configurable format; records its requests."""

    def __init__(self, status: int, form: Any) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.form = status, form
        self.asked: list[tuple[str, dict[str, Any], str | None]] = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Counting

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body, self.headers["Authorization"]))
        answer = self.server.form(body) if callable(self.server.form) else self.server.form
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def counting(form: Any, status: int = 200) -> Iterator[Counting]:
    with Counting(status, form) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server
        server.shutdown()


def as_llama_cpp(body: dict[str, Any]) -> Any:
    return {"tokens": [1] * len(body["content"].split())}


def as_vllm(body: dict[str, Any]) -> Any:
    count = len(body["prompt"].split())
    return {"count": count, "max_model_len": 4096, "tokens": [1] * count}


@pytest.mark.parametrize("form", [as_llama_cpp, as_vllm])
async def test_a_server_that_counts_is_asked_each_time(form: Any) -> None:
    with counting(form) as server:
        counter = TokenCounter(server.url, "small", "key")
        assert [await counter.count(text) for text in ("one two three", "four", "")] == [3, 1, 0]
    assert [path for path, _, _ in server.asked] == ["/tokenize"] * 2
    assert server.asked[0][1]["model"] == "small" and server.asked[0][2] == "Bearer key"


@pytest.mark.parametrize(
    ("status", "form"),
    [(404, {"error": "no such page"}), (200, {"ok": True}), (200, [1]), (200, b"<html>"), (500, b"")],
)
async def test_a_server_that_does_not_count_is_asked_once(status: int, form: Any) -> None:
    with counting(form, status) as server:
        counter = TokenCounter(server.url, "small")
        assert [await counter.count("one"), await counter.count("two")] == [None, None]
    assert len(server.asked) == 1


async def test_no_server_means_no_count() -> None:
    assert await TokenCounter("http://127.0.0.1:9/v1", "small").count("one") is None
    assert await TokenCounter("not an address", "small").count("one") is None


async def test_only_a_server_that_the_user_named_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with counting(as_vllm) as server:
        named = ModelConfig(environ={}, fetched_models=tmp_path, base_url=server.url)
        model = await open_model("openai-chat:small", named)
        assert await model.count_tokens("one two") == 2
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    public = ModelConfig(environ={"OPENAI_API_KEY": "sk-none"}, fetched_models=tmp_path)
    assert await (await open_model("openai-chat:gpt-5", public)).count_tokens("one two") is None


@only_in_a_long_run
async def test_the_embedded_model_counts_when_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = await open_model("embedded", ModelConfig(environ={}, fetched_models=tmp_path))
    try:
        counted = await model.count_tokens("The quick brown fox jumps over the lazy dog.")
    finally:
        await model.close()
    assert counted in (None, 10)
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    missing = await open_model("embedded", ModelConfig(environ={}, fetched_models=tmp_path))
    assert await missing.count_tokens("one") is None
