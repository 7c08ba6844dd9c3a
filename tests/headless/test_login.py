"""`co-tui login`: a key from standard input, checked, kept, removed."""

import json
import os
import pty
import stat

import pytest

from co_tui.agent import redact
from tests.support.command import CliCommand
from tests.support.here import Here
from tests.support.provider import Provider, Reply
from tests.support.waiting import PATIENCE_S

KEY = "zq-made-up-key-5555566666"


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "_remembered", set())


def models_answer(provider: Provider, status: int) -> None:
    body = json.dumps({"data": [{"id": "scripted"}]}).encode()
    provider.models = Reply(status=status, raw=(body,), headers={"Content-Type": "application/json"})


def test_a_piped_key_is_checked_kept_used_and_removed(here: Here, provider: Provider) -> None:
    here.environ["OPENAI_BASE_URL"] = provider.url
    models_answer(provider, 403)
    refused = here("login", "openai", stdin=f"{KEY}\n")
    assert refused.code == 1 and "refused the key (HTTP 403)" in refused.err
    models_answer(provider, 200)
    kept = here("login", "openai", stdin=f"{KEY}\n")
    file = here.home / "state" / "keys.json"
    assert kept.code == 0 and str(file) in kept.err and stat.S_IMODE(file.stat().st_mode) == 0o600
    answered = here("run", "--model", "openai-chat:scripted", "-p", f"Tell me about {KEY}", "--json")
    assert answered.code == 0 and provider.asked_models[-1]["Authorization"] == f"Bearer {KEY}"
    session = answered.objects[0]["session_id"]
    exported = here("export", session)
    assert "Tell me about [hidden]" in exported.out
    doctor = here("doctor")
    assert f"openai ({file})" in doctor.out
    removed = here("login", "openai", "--remove")
    assert removed.code == 0 and KEY not in file.read_text()
    assert here("login", "openai", "--remove").code == 1
    results = (refused, kept, exported, doctor, removed)
    assert all(KEY not in each.out + each.err for each in results)


def test_mistakes_get_one_sentence(here: Here) -> None:
    assert "Did you mean mistral?" in here("login", "mistrall").err
    assert "ollama needs no key" in here("login", "ollama").err
    nameless = here("login")
    assert nameless.code == 2 and "Name a provider: anthropic, openai" in nameless.err
    empty = here("login", "openai")
    assert empty.code == 2 and "No key was given" in empty.err


def test_doctor_reports_a_key_file_that_others_can_read(here: Here) -> None:
    file = here.home / "state" / "keys.json"
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    file.chmod(0o644)
    assert "is readable by others. Run `chmod 600`" in here("doctor").err


def test_a_damaged_file_of_keys_stays_as_it_is_and_is_named(here: Here, provider: Provider) -> None:
    here.environ["OPENAI_BASE_URL"] = provider.url
    models_answer(provider, 200)
    file = here.home / "state" / "keys.json"
    file.parent.mkdir(parents=True)
    file.write_text(before := '{"version": 1, "keys": {"mistral@api.mistral.ai": {"key": "zq-made-up')
    refused = here("login", "openai", stdin=f"{KEY}\n")
    assert refused.code == 1 and f"Cannot save the key in {file}: it is not JSON" in refused.err
    assert f"Cannot read {file}: it is not JSON" in here("doctor").err
    assert file.read_text() == before and KEY not in refused.err


def test_at_a_terminal_the_key_is_not_echoed(co_tui: CliCommand, provider: Provider) -> None:
    co_tui.environ["OPENAI_BASE_URL"] = provider.url
    models_answer(provider, 200)
    ours, theirs = pty.openpty()
    process = co_tui.fork((theirs, theirs, theirs), "login", "openai", terminal=True)
    os.close(theirs)
    shown = b""
    while b"not shown: " not in shown:
        shown += os.read(ours, 1000)
    os.write(ours, f"{KEY}\n".encode())
    try:
        while piece := os.read(ours, 1000):
            shown += piece
    except OSError:
        pass  # the other end is closed
    assert process.wait(PATIENCE_S) == 0
    assert b"accepted the key" in shown and KEY.encode() not in shown
    os.close(ours)
