"""Keys never reach a sentence; unusable models say why."""

import gzip
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelAuthenticationError, ModelConnectionError

from co_tui.agent.models.catalogue import choose
from co_tui.agent.models.open_model import ModelConfig, open_model
from co_tui.agent.redact import HIDDEN, redact
from co_tui.agent.wire.guarded_model import GuardedModel
from co_tui.agent.wire.http import new_client
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.agent.wire.request_failures import Failure, RequestTarget, read_failure
from tests.support.cases import each_case
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.provider_sessions import BUILD


@each_case(
    "secret",
    [
        "sk-proj-abcdefghijklmnop",
        "sk-ant-api03-AAAABBBBCCCC",
        "sk-abc1********wxyz",
        "AIzaSyA1234567890abcdefghij",
        "ghp_1234567890abcdef",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc",
        "AKIAIOSFODNN7EXAMPLE",
    ],
)
def test_what_looks_like_a_key_is_hidden(secret: str) -> None:
    hidden = redact(f"Incorrect key {secret} given")
    assert secret not in hidden and HIDDEN in hidden and hidden.startswith("Incorrect key")


def test_known_secrets_bearers_and_passwords_are_hidden() -> None:
    assert redact("token is hunter22!", ["hunter22!"]) == f"token is {HIDDEN}"
    assert redact("Authorization: Bearer abc.def") == f"Authorization: Bearer {HIDDEN}"
    assert redact("http://me:pass@host/v1") == f"http://{HIDDEN}@host/v1"
    assert redact("an ordinary sentence about sk and keys") == "an ordinary sentence about sk and keys"


@pytest.mark.parametrize(
    ("name", "environ", "words"),
    [
        ("anthropic:claude-sonnet-5", {}, ["ANTHROPIC_API_KEY"]),
        ("openai:gpt-6-sol", {}, ["OPENAI_API_KEY"]),
        ("openai-chat:x", {}, ["OPENAI_BASE_URL"]),
        ("anthropc:claude-sonnet-5", {}, ["anthropic:claude-sonnet-5"]),
        ("gpt-5.4", {}, ["openai:gpt-5.4"]),
        ("nobody:nothing", {}, ["embedded", "anthropic", "openai"]),
        ("openai-chat:", {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, ["http://127.0.0.1:9/v1"]),
    ],
)
async def test_an_unusable_model_says_which_variable_name_or_address(name, environ, words, tmp_path: Path) -> None:
    with pytest.raises(ModelUnusable) as raised:
        await open_model(name, ModelConfig(environ=environ, fetched_models=tmp_path))
    for word in words:
        assert word in str(raised.value)


@pytest.mark.parametrize(
    ("name", "environ"),
    [
        ("openai-chat:x@http://me:hunter22@host/v1", {}),
        ("openai-chat:x", {"OPENAI_BASE_URL": "http://me:hunter22@host/v1"}),
        ("anthropic:claude-sonnet-5", {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": "http://me:hunter22@host"}),
    ],
)
async def test_a_model_at_an_address_with_a_password_is_refused_without_showing_it(
    name: str, environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in environ.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(ModelUnusable, match=r"has a user name or password\. Remove it") as refused:
        await open_model(name, ModelConfig(environ=environ, fetched_models=tmp_path))
    assert "hunter22" not in str(refused.value)


async def test_the_embedded_model_missing_says_how_large_it_is(tmp_path: Path, monkeypatch) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    model = await open_model("embedded", ModelConfig(environ={}, fetched_models=tmp_path))
    with pytest.raises(ModelUnusable, match="127 MB"):
        await model.model()


async def test_a_server_reports_its_window_and_its_first_model(provider: Provider, tmp_path: Path) -> None:
    config = ModelConfig(environ={"OPENAI_BASE_URL": provider.url}, fetched_models=tmp_path)
    model = await open_model("openai-chat:", config)
    assert model.name == "openai-chat:scripted"
    assert await model.window_tokens() == 4096


def test_the_default_model() -> None:
    assert choose("x:y", "the command line", {"ANTHROPIC_API_KEY": "k"}).model == "x:y"
    assert choose("", "default", {"OPENAI_API_KEY": "k"}).model.startswith("openai:")
    both = choose("", "default", {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})
    assert both.model.startswith("anthropic:") and "ANTHROPIC_API_KEY" in both.reason
    assert choose("", "default", {"OPENAI_BASE_URL": "http://x"}).model == "openai-chat:"
    assert choose("", "default", {"OPENAI_API_KEY": ""}).model == "embedded"


async def test_an_address_that_does_not_speak_http_is_a_sentence(tmp_path: Path) -> None:
    import socket
    import threading

    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with suppress(OSError):  # closed
                while True:
                    connection, _ = server.accept()
                    connection.sendall(b"SSH-2.0-OpenSSH\r\n")
                    connection.close()

        threading.Thread(target=answer, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        for base_url in (url, "http://127.0.0.1:9/v 1"):
            with pytest.raises(ModelUnusable, match="does not list its models"):
                await open_model("openai-chat:", ModelConfig(environ={}, fetched_models=tmp_path, base_url=base_url))


@each_case(
    ("model", "advice"),
    [
        ("openai-chat:x", "Is the server running, and is base_url or OPENAI_BASE_URL right?"),
        ("openai-chat:x@http://127.0.0.1:9/v1", "Is the server running?"),
        ("anthropic:claude-sonnet-5", "Are you online?"),
    ],
)
def test_who_cannot_be_reached_is_looked_for_where_the_address_comes_from(model: str, advice: str) -> None:
    error = ModelConnectionError("x", "Connection error.", phase="connect")
    assert read_failure(error, RequestTarget(model, "http://127.0.0.1:9/v1")).sentence.endswith(advice)


async def test_a_provider_on_the_network_that_cannot_be_reached_asks_whether_one_is_online(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    error = ModelConnectionError("x", "Connection error.", phase="connect")
    config = ModelConfig(environ={"OPENAI_API_KEY": "sk-test"}, fetched_models=tmp_path)
    opened = await open_model("openai:gpt-5", config)
    assert read_failure(error, opened.asked).sentence.endswith("Connection error. Are you online?")
    await opened.close()


PACKED = {"Content-Encoding": "gzip"}
UNREADABLE = {
    "a bomb": Reply(raw=(gzip.compress(b" " * 50_000_000, 1),), headers=PACKED),
    "a bomb of zeros": Reply(raw=(gzip.compress(bytes(50_000_000), 1),), headers=PACKED),
    "not packed as it says": Reply(raw=(b"{}",), headers=PACKED),
    "binary": Reply(raw=(b"\xff\xfe\x00" * 100,)),
    "control characters": Reply(raw=(b"\x1b[2J\x07",)),
    "blanks": Reply(raw=(b" \n" * 1_000_000,)),
    "nothing": Reply(raw=(b"",)),
    "an empty object": Reply(raw=(b"{}",)),
}


OTHER_WIRES = [wire for wire in BUILD if wire != "chat"]


async def failure_of(wire: str, provider: Provider) -> Failure:
    async with new_client() as client:
        agent = Agent(GuardedModel(BUILD[wire](provider.url.removesuffix("/v1"), client)), retries=0)
        with pytest.raises(Exception) as raised:  # each provider's library has its own
            async with agent.run_stream("hi") as reply:
                await reply.get_output()
    return read_failure(raised.value, RequestTarget("model"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("wire", "name"),
    also_in_a_long_run(
        [*(("chat", name) for name in UNREADABLE), *product(OTHER_WIRES, ("a bomb", "binary"))],
        [*product(OTHER_WIRES, [name for name in UNREADABLE if name not in ("a bomb", "binary")])],
    ),
)
async def test_an_error_that_cannot_be_read_is_a_sentence_with_its_status(
    wire: str, name: str, provider: Provider
) -> None:
    provider.default = UNREADABLE[name]
    for status, begins in ((500, "model had a server error: "), (418, "model answered ")):
        provider.default.status = status
        failure = await failure_of(wire, provider)
        assert failure.sentence == f"{begins}HTTP {status} with an empty or unreadable body."
        assert failure.status == status


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wire", BUILD)
async def test_an_error_that_can_be_read_keeps_its_words(wire: str, provider: Provider) -> None:
    for body in (
        b'{"error": {"message": "no \xe6\xbc\xa2 today \xef\xbf\xbd"}}',
        b"no \xe6\xbc\xa2 today \xef\xbf\xbd",
    ):
        provider.default = Reply(status=500, raw=(body,))
        assert (await failure_of(wire, provider)).sentence == "model had a server error: no 漢 today \ufffd"
    provider.default = Reply(status=500, raw=(b'{"error": {"message": "' + b"long " * 1_000_000 + b'"}}',))
    assert "long long" in (await failure_of(wire, provider)).sentence


def test_a_server_that_got_no_key_is_not_said_to_have_rejected_one() -> None:
    error = ModelAuthenticationError("m", "Unauthorized")
    asked = RequestTarget("openai-chat:small@http://box:8000/v1", "http://box:8000/v1")
    sentence = read_failure(error, asked).sentence
    assert "asks for a key, and none was sent" in sentence and "OPENAI_API_KEY" not in sentence
    keyed = read_failure(error, asked._replace(key_source="OPENAI_API_KEY")).sentence
    assert "rejected the key in OPENAI_API_KEY" in keyed
