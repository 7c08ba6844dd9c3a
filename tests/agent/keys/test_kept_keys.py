"""Keys that `co-tui login` keeps: in the keyring where there is one, else in a file of the owner's."""

import stat
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from keyring.backend import KeyringBackend
from keyring.backends import SecretService, null
from keyring.backends.chainer import ChainerBackend

from co_tui.agent import redact
from co_tui.agent.keys import system_keyring
from co_tui.agent.keys.kept_keys import FILE, KeptKeys, KeyUnavailable, key_sources
from co_tui.agent.keys.key_servers import KeyOwner, key_owner, key_owners
from co_tui.agent.keys.login import log_in
from co_tui.agent.keys.system_keyring import KeyringFailed, within_limit
from co_tui.agent.models.catalogue import PROVIDERS, choose
from co_tui.agent.models.model_handle import ModelConfig
from co_tui.agent.models.open_model import open_model
from co_tui.agent.wire.model_errors import KeyMissing, ModelUnusable
from co_tui.paths import locate
from tests.support.in_memory_keyring import InMemoryKeyring, use_keyring_in_memory
from tests.support.provider import Provider, Reply

KEY = "zq-made-up-key-0123456789"


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "_remembered", set())


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemoryKeyring]:
    yield use_keyring_in_memory(monkeypatch)


@pytest.fixture
def kept(home: Path) -> KeptKeys:
    return KeptKeys(locate({"CO_TUI_HOME": str(home)}))


def owner_of(provider: str, environ: dict[str, str] | None = None) -> KeyOwner:
    owner = key_owner(provider, environ or {})
    assert owner is not None
    return owner


def everything_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_with_a_keyring_the_key_is_in_no_file(kept: KeptKeys, keyring: InMemoryKeyring, home: Path) -> None:
    anthropic = owner_of("anthropic")
    assert kept.place_of(kept.keep(anthropic, KEY)) == "the system's keyring"
    assert keyring.kept == {("co-tui", "anthropic@api.anthropic.com"): KEY}
    assert KEY.encode() not in everything_in(home)
    assert kept.read(anthropic) == KEY and kept.providers({}) == {"anthropic"}
    found = kept.find(anthropic)
    assert found is not None
    kept.remove(found)
    assert keyring.kept == {} and kept.all() == [] and kept.read(anthropic) == ""


def test_without_a_keyring_the_file_is_its_owners_alone(kept: KeptKeys) -> None:
    place = kept.keep(owner_of("openai"), KEY)
    assert kept.place_of(place) == str(kept.file) and kept.read(owner_of("openai")) == KEY
    assert stat.S_IMODE(kept.file.stat().st_mode) == 0o600 and not kept.is_open_to_others
    for mode in (0o640, 0o604):
        kept.file.chmod(mode)
        assert kept.is_open_to_others
    kept.remove(kept.all()[0])
    assert KEY not in kept.file.read_text() and kept.all() == []


def test_a_keyring_that_refuses_leaves_it_to_the_file(kept: KeptKeys, keyring: InMemoryKeyring) -> None:
    keyring.failure = RuntimeError(f"locked, cannot keep {KEY}")
    assert kept.keep(owner_of("google"), KEY) == FILE
    assert kept.read(owner_of("google")) == KEY


def test_a_keyring_that_lost_the_key_says_what_to_do(kept: KeptKeys, keyring: InMemoryKeyring) -> None:
    kept.keep(owner_of("google"), KEY)
    keyring.failure = RuntimeError(f"bad things with {KEY}")
    with pytest.raises(KeyUnavailable, match="Unlock it, run `co-tui login google`") as refused:
        kept.read(owner_of("google"))
    assert KEY not in str(refused.value)
    with pytest.raises(KeyUnavailable, match="did not remove"):
        kept.remove(kept.all()[0])
    keyring.failure = None
    keyring.kept.clear()
    with pytest.raises(KeyUnavailable, match="no longer has the key"):
        kept.read(owner_of("google"))


def test_only_keyrings_that_encrypt_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(backend: KeyringBackend) -> object:
        monkeypatch.setattr("keyring.get_keyring", lambda: backend)
        return system_keyring.find_keyring()

    class Plain(KeyringBackend):
        get_password = set_password = delete_password = None  # type: ignore[assignment]
        priority = 9  # type: ignore[assignment]

    Plain.__module__ = "keyrings.alt.file"
    secret = SecretService.Keyring()
    chained = ChainerBackend()
    monkeypatch.setattr(ChainerBackend, "backends", [Plain(), null.Keyring(), secret])
    assert found(null.Keyring()) is None and found(Plain()) is None
    assert found(secret) is not None
    through_chain: Any = found(chained)
    assert through_chain._backend is secret
    monkeypatch.setattr("keyring.get_keyring", lambda: 1 / 0)
    assert system_keyring.find_keyring() is None, "a broken configuration is as good as none"


def test_a_keyring_that_never_answers_is_not_waited_for() -> None:
    with pytest.raises(KeyringFailed, match="did not answer"):
        within_limit(Event().wait, seconds=0.01)


@pytest.mark.parametrize("content", ["", "[1]", '{"keys": 3}', '{"keys": {"a": 1, "x@y": []}}', "\x00"])
def test_a_damaged_file_counts_as_empty(kept: KeptKeys, content: str) -> None:
    kept.file.parent.mkdir(parents=True)
    kept.file.write_text(content)
    assert kept.providers({}) == frozenset() and kept.read(owner_of("openai")) == ""


def test_a_key_of_a_provider_that_a_newer_version_knows_is_hidden_too(kept: KeptKeys, keyring: InMemoryKeyring) -> None:
    kept.keep(KeyOwner("newer", "https://api.example.com"), KEY)
    kept.keep(KeyOwner("lost", "https://api.example.com"), KEY)
    keyring.delete_password("co-tui", "lost@api.example.com")
    redact._remembered.clear()
    kept.hide_all()
    assert redact.redact(KEY) == redact.HIDDEN


def test_a_key_is_only_for_the_host_it_was_entered_for(kept: KeptKeys) -> None:
    elsewhere = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    kept.keep(owner_of("openai", elsewhere), KEY)
    assert kept.providers({}) == frozenset() and kept.read(owner_of("openai")) == ""
    assert kept.providers(elsewhere) == {"openai", "openai-chat"}
    assert kept.providers({}, "http://127.0.0.1:9/v1") == {"openai-chat"}, "the setting is for compatible servers"


def test_the_environment_wins_and_no_source_shows_a_key(kept: KeptKeys) -> None:
    kept.keep(owner_of("anthropic"), KEY)
    environ = {"ANTHROPIC_API_KEY": "from-the-environment"}
    assert key_sources(kept, environ) == [("anthropic", "ANTHROPIC_API_KEY")]
    assert key_sources(kept, {}) == [("anthropic", str(kept.file))]
    assert choose("", "", {"GEMINI_API_KEY": "k"}, kept=kept.providers({})).model.startswith("google:")
    assert choose("", "", {}, kept=kept.providers({})).model.startswith("anthropic:")


def test_every_provider_that_needs_a_key_can_be_logged_in_to() -> None:
    assert {owner.provider for owner in key_owners({})} == {each.prefix for each in PROVIDERS if each.needs_key}


def config_with(kept: KeptKeys, **environ: str) -> ModelConfig:
    return ModelConfig(environ=environ, fetched_models=kept.file.parent, keys=kept)


async def test_a_kept_key_reaches_its_provider(
    kept: KeptKeys, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the library sends it: it reads the address from the process's own environment."""
    address = provider.url.removesuffix("/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
    config = config_with(kept, ANTHROPIC_BASE_URL=address)
    with pytest.raises(KeyMissing, match="Run `co-tui login anthropic`"):
        await open_model("anthropic:claude-sonnet-5", config)
    kept.keep(owner_of("anthropic", {"ANTHROPIC_BASE_URL": address}), KEY)
    handle = await open_model("anthropic:claude-sonnet-5", config)
    model: Any = await handle.model()
    assert model.wrapped.client.api_key == KEY and KEY in handle.asked.secrets
    assert str(kept.file) in handle.asked.key_source
    await handle.close()


async def test_a_kept_key_is_not_sent_where_the_library_would_go_instead(
    kept: KeptKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.keep(owner_of("anthropic"), KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://elsewhere.example.com")
    with pytest.raises(ModelUnusable, match=r"is at elsewhere\.example\.com, but the saved key is for api\.anthropic"):
        await open_model("anthropic:claude-sonnet-5", config_with(kept))


def answering(provider: Provider, status: int) -> None:
    provider.models = Reply(status=status, raw=(b'{"data": []}',), headers={"Content-Type": "application/json"})


@pytest.mark.parametrize(("name", "header"), [("openai", "Authorization"), ("anthropic", "x-api-key")])
async def test_a_key_is_checked_before_it_is_kept(kept: KeptKeys, provider: Provider, name: str, header: str) -> None:
    address = provider.url if name == "openai" else provider.url.removesuffix("/v1")
    owner = owner_of(name, {f"{name.upper()}_BASE_URL": address})
    answering(provider, 401)
    refused = await log_in(kept, owner, KEY, {})
    assert not refused.kept and "refused the key (HTTP 401)" in refused.sentence and not kept.file.exists()
    answering(provider, 200)
    accepted = await log_in(kept, owner, f" {KEY}\n", {f"{name.upper()}_API_KEY": "other"})
    assert accepted.kept and "accepted the key" in accepted.sentence and kept.read(owner) == KEY
    assert f"{name.upper()}_API_KEY is set and is used instead" in accepted.sentence
    assert KEY not in refused.sentence + accepted.sentence
    sent = {each.lower(): value for each, value in provider.asked_models[-1].items()}
    assert sent[header.lower()].endswith(KEY) and provider.requests == []


async def test_a_key_that_cannot_be_checked_now_is_kept_and_said_to_be_unchecked(
    kept: KeptKeys, provider: Provider
) -> None:
    owner = owner_of("openai", {"OPENAI_BASE_URL": provider.url})
    answering(provider, 503)
    result = await log_in(kept, owner, KEY, {})
    assert result.kept and "could not be checked" in result.sentence and "HTTP 503" in result.sentence


@pytest.mark.parametrize(
    "key", ["", "  ", "short", "with a space in it", "ключ-из-букв", "two\nlines-of-it", "x" * 5000]
)
async def test_what_cannot_be_a_key_is_refused_without_a_request(kept: KeptKeys, provider: Provider, key: str) -> None:
    result = await log_in(kept, owner_of("openai", {"OPENAI_BASE_URL": provider.url}), key, {})
    assert not result.kept and provider.asked_models == [] and not kept.file.exists()
    assert not key.strip() or key not in result.sentence


def test_a_key_once_read_is_hidden_everywhere(kept: KeptKeys) -> None:
    kept.keep(owner_of("openai"), KEY)
    assert redact.redact(f"it said {KEY}!") == "it said [hidden]!"
    assert KEY in redact.keys_in({}) and redact.without_secrets({"INNOCENT": f"a{KEY}b"}) == {}
    assert redact.redact_values({f"under {KEY}": [(KEY, 1)]}) == {"under [hidden]": [["[hidden]", 1]]}
    environ = {"PGPASSWORD": "of-the-database", "GEMINI_API_KEY": "of-a-provider", "OTHER_TOKEN": "of-another-program"}
    assert redact.keys_of_ours(environ) == {KEY, "of-the-database", "of-a-provider"}
