"""What servers may send when they are asked something, and where keys go."""

import ast
import asyncio
import os
import re
import resource
import socket
import threading
import zlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic_ai import Agent

import co_tui
from co_tui.agent.models.open_model import ModelConfig, open_model
from co_tui.agent.models.server_counting import TokenCounter
from co_tui.agent.redact import without_secrets
from co_tui.agent.wire import http
from co_tui.agent.wire.http import Exchange, NoAnswer, ask, exchange, new_client
from co_tui.agent.wire.model_errors import ModelUnusable
from tests.support.provider import Provider, Reply
from tests.support.waiting import PATIENCE_S

KEY = "sk-test-0123456789abcdef"


def config(provider: Provider, home: Path, **more: object) -> ModelConfig:
    return ModelConfig(environ={"OPENAI_API_KEY": KEY}, fetched_models=home, base_url=provider.url, **more)


@pytest.fixture
def other():
    with Provider().serving() as serving:
        yield serving


@pytest.mark.parametrize("status", [302, 308])
async def test_a_redirect_to_another_host_is_not_followed(
    status: int, provider: Provider, other: Provider, tmp_path: Path
) -> None:
    elsewhere = {"Location": f"{other.url}/models"}
    provider.models = Reply(status=status, headers=elsewhere, raw=(b"",))
    with pytest.raises(ModelUnusable, match="redirects to another server") as raised:
        await open_model("openai-chat:", config(provider, tmp_path))
    assert KEY not in str(raised.value) and provider.asked_models[0]["Authorization"] == f"Bearer {KEY}"
    assert other.asked_models == [] and other.requests == []


async def test_a_redirect_on_the_same_server_is_followed(provider: Provider) -> None:
    provider.models = Reply(status=307, headers={"Location": "/v1/other"}, raw=(b"",))
    with pytest.raises(NoAnswer, match="in a loop"):
        await ask(f"{provider.url}/models", KEY, timeout_s=5)
    assert len(provider.asked_models) == 4


async def test_counting_does_not_follow_to_another_host_either(provider: Provider, other: Provider) -> None:
    provider.script = []
    other.tokenizes = True

    def redirecting(server: socket.socket) -> None:
        connection, _ = server.accept()
        connection.recv(65_536)
        place = other.url.removesuffix("/v1")
        connection.sendall(f"HTTP/1.1 307 T\r\nLocation: {place}/tokenize\r\nContent-Length: 0\r\n\r\n".encode())
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=redirecting, args=(server,), daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        assert await TokenCounter(url, "m", KEY).count("one two") is None
    assert other.tokenized == []


def large() -> Reply:
    return Reply(raw=(b'{"data": "' + b"x" * 10_000_000,))


def bomb() -> Reply:
    """200 MB when unpacked, made without holding them: the test looks at the most memory ever used."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    packed = [packer.compress(b"["), *(packer.compress(b" " * 1_000_000) for _ in range(200)), packer.flush()]
    return Reply(raw=(b"".join(packed),), headers={"Content-Encoding": "gzip"})


ODD_ANSWERS: dict[str, tuple[Callable[[], Reply], str]] = {
    "more than fits": (large, "over 2 MB"),
    "a bomb": (bomb, "over 2 MB"),
    "not packed as it says": (lambda: Reply(raw=(b"{}",), headers={"Content-Encoding": "gzip"}), "decompressing"),
    "one byte at a time": (lambda: Reply(raw=(b"{", *([0.2, b" "] * 100))), "took longer than"),
    "nested": (lambda: Reply(raw=(b"[" * 100_000,)), "nested too deeply"),
    "no JSON": (lambda: Reply(raw=(b"<html>",)), "not JSON"),
    "no text": (lambda: Reply(raw=(b"\xff\xfe",)), "not JSON"),
    "five thousand digits": (lambda: Reply(raw=(b"9" * 5_000,)), "not JSON"),
    "an error": (lambda: Reply(status=500, raw=(b"{}",)), "HTTP 500"),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD_ANSWERS)
async def test_an_answer_is_bounded_in_size_depth_and_time(name: str, provider: Provider) -> None:
    reply, why = ODD_ANSWERS[name]
    provider.models = reply()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(NoAnswer, match=why):
        await ask(f"{provider.url}/models", timeout_s=1.0 if "time" in name else PATIENCE_S)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


@pytest.mark.parametrize(
    "reported",
    [b"100000000000000000000000000", b"-5", b"0", b"1.5e300", b"true", b'"4096"', b"[1]", b"1e999", b"7", b"null"],
)
async def test_an_implausible_window_is_ignored(reported: bytes, provider: Provider, tmp_path: Path) -> None:
    provider.models = Reply(raw=(b'{"data": [5, {"id": "scripted", "meta": {"n_ctx": ' + reported + b"}}]}",))
    model = await open_model("openai-chat:", config(provider, tmp_path))
    assert model.name == "openai-chat:scripted" and await model.window_tokens() is None
    await model.close()


@pytest.mark.parametrize("listed", [b"5", b'{"data": 5}', b'{"data": [{"id": 5}, {"id": ""}, null]}', b"{}", b"[]"])
async def test_a_list_of_models_without_any_is_a_sentence(listed: bytes, provider: Provider, tmp_path: Path) -> None:
    provider.models = Reply(raw=(listed,))
    with pytest.raises(ModelUnusable, match="lists no model"):
        await open_model("openai-chat:", config(provider, tmp_path))


def test_what_holds_a_key_is_left_out_of_an_environment() -> None:
    kept = {"PATH": "/bin", "HOME": "/root", "LANG": "C", "CO_TUI_HOME": "/x", "SSH_AUTH_SOCK": "/s", "KEYBOARD": "de"}
    secret = {
        "OPENAI_API_KEY": "abc",
        "MY_API_KEY": "abc",
        "GITHUB_TOKEN": "abc",
        "TOKEN": "abc",
        "DB_PASSWORD": "abc",
        "A_SECRET_THING": "abc",
        "AWS_ACCESS_KEY_ID": "abc",
        "DATABASE": "postgres://me:word@host/db",
        "OTHER": "sk-proj-abcdefghijklmnop",
    }
    assert without_secrets({**kept, **secret}) == kept


def environments_of_children(before: set[str]) -> list[bytes]:
    return [Path(f"/proc/{child}/environ").read_bytes() for child in children() - before]


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
async def test_the_embedded_model_s_process_gets_no_key(tmp_path: Path) -> None:
    environ = {**os.environ, "OPENAI_API_KEY": KEY, "HF_TOKEN": "hf_abcdefgh"}
    before = children()  # of other tests
    model = await open_model("embedded", ModelConfig(environ=environ, fetched_models=tmp_path))
    try:
        if await model.count_tokens("one") is None:
            pytest.skip("the embedded model is not installed")
        given = environments_of_children(before)
    finally:
        await model.close()
    assert any(b"PATH=" in each for each in given)
    assert not any(KEY.encode() in each or b"hf_abcdefgh" in each for each in given)


UNBOUNDED = {"urllib.request", "http.client", "httpx", "requests", "aiohttp", "urllib3", "socket"}
CLIENTS = {"AsyncClient", "Client", "create_async_httpx2_client", "create_async_http_client", "stream", "get", "post"}
IMPORT = re.compile(r"^\s*(?:from \S+ )?import (?:\([^)]*\)|.*)", re.MULTILINE)
SERVERS = {"serve_command.py", "page_server.py", "open_page.py"}
"""They serve, and send no requests."""


def test_the_wire_is_the_only_way_out() -> None:
    """Nothing else opens a connection, so that the limits on size, time and redirects hold for all of them."""
    sources = {file: file.read_text() for file in Path(co_tui.__file__).parent.rglob("*.py")}
    assert len(sources) > 100
    naming = {file: ast.parse(text) for file, text in sources.items() if _may_reach_out(text)}
    found = {file.name for file, tree in naming.items() if any(map(_reaches_out, ast.walk(tree)))}
    assert found - SERVERS == {"http.py"}


def _may_reach_out(text: str) -> bool:
    """By the words of its imports; to parse all files takes seconds."""
    imported = {word for statement in IMPORT.findall(text) for word in re.findall(r"\w+", statement)}
    return not imported.isdisjoint({"httpx2", *CLIENTS, *(each.partition(".")[0] for each in UNBOUNDED)})


def _reaches_out(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return any(each.name in UNBOUNDED for each in names)
        case ast.ImportFrom(module=module, names=names):
            named = {each.name for each in names}
            return bool({module, *(f"{module}.{each}" for each in named)} & UNBOUNDED or named & CLIENTS)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="httpx2"), attr=attr)):
            return attr in CLIENTS
        case _:
            return False


async def test_what_is_on_this_machine_is_asked_past_any_proxy(
    tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")  # nothing listens there
    model = await open_model("openai-chat:", ModelConfig(environ={}, fetched_models=tmp_path, base_url=provider.url))
    try:
        assert model.name == "openai-chat:scripted" and await model.window_tokens() == 4096
        async with Agent(await model.model()).run_stream("hi", model_settings=model.settings) as reply:
            assert await reply.get_output()
    finally:
        await model.close()


async def test_messages_are_not_looked_through_before_they_are_sent(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library would do it on the loop, at a quarter of a millisecond each."""
    from openai.resources.chat.completions import completions

    looked_through = []
    transform = completions.async_maybe_transform

    async def counting(body: dict[str, Any], kind: Any) -> Any:
        looked_through.extend(body["messages"])
        return await transform(body, kind)

    monkeypatch.setattr(completions, "async_maybe_transform", counting)
    handle = await open_model("openai-chat:scripted", config(provider, tmp_path))
    async with Agent(await handle.model()).run_stream("one", model_settings={"extra_body": {"seed": 7}}) as run:
        await run.get_output()
    await handle.close()
    (sent,) = provider.requests
    assert [message["content"] for message in sent["messages"]] == ["one"] and sent["seed"] == 7
    assert looked_through == []


async def test_a_providers_compaction_is_seen_in_a_reply_that_comes_in_pieces() -> None:
    signal = b'{"type":"agent.thread_context_compacted"}'

    async def chunks() -> AsyncIterator[bytes]:
        yield signal[:-4]
        yield signal[-4:]

    async with new_client() as client:
        exchange.set(seen := Exchange())
        response = httpx2.Response(200, content=chunks())
        for hook in client.event_hooks["response"]:
            await hook(response)
        assert await response.aread() == signal
    assert seen.compacted_as == "agent.thread_context_compacted"


async def test_a_fast_server_is_read_at_intervals_and_what_was_read_at_once_comes_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    wait = asyncio.sleep

    async def paused(seconds: float) -> None:
        pauses.append(seconds)
        await wait(0)

    async def read() -> AsyncIterator[bytes]:
        for reading in (b"ab", b"cde", b"f"):
            await wait(0)  # for the network
            for piece in reading:
                yield bytes((piece,))

    monkeypatch.setattr(http, "READ_S", 3600.0)
    monkeypatch.setattr(asyncio, "sleep", paused)
    pieces = [(piece, len(pauses)) async for piece in http.paced(read())]
    assert pieces == [(b"a", 1), (b"b", 1), (b"c", 2), (b"d", 2), (b"e", 2), (b"f", 3)]
    assert pauses[0] == 0 and all(pause > 3000 for pause in pauses[1:])


async def test_a_slow_server_is_never_waited_for_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read() -> AsyncIterator[bytes]:
        for _ in range(3):
            await asyncio.sleep(0)
            yield b"x"

    monkeypatch.setattr(http, "READ_S", 0.0)
    loop = asyncio.get_running_loop()
    timers: list[float] = []
    call_at = loop.call_at
    monkeypatch.setattr(
        loop, "call_at", lambda when, *args, **more: (timers.append(when), call_at(when, *args, **more))[1]
    )
    assert [piece async for piece in http.paced(read())] == [b"x"] * 3
    assert timers == []
