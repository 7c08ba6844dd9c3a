"""Known keys are taken out of what tools return, in every form and in any pieces."""

import json
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from co_tui.agent import redact
from co_tui.agent.known_keys import KeyNotThere, KnownKeys
from co_tui.agent.redact import remember_secret, without_secrets

KEY = "sk-0123456789abcdef"
PASSWORD = 'p"ä/ss w\\ord1'
KEYS = KnownKeys({"OPENAI_API_KEY": KEY, "LONGER_API_KEY": f"{KEY}-and-more", "DB_PASS": PASSWORD})


def test_each_key_is_replaced_by_the_name_of_what_it_belongs_to() -> None:
    assert KEYS.removed_from(f"a={KEY}\nb={KEY}-and-more") == "a=[OPENAI_API_KEY removed]\nb=[LONGER_API_KEY removed]"
    for written in (PASSWORD, json.dumps(PASSWORD), json.dumps(PASSWORD, ensure_ascii=False), quote(PASSWORD, safe="")):
        assert "[DB_PASS removed]" in KEYS.removed_from(written) and "ord1" not in KEYS.removed_from(written)


def test_a_kept_key_is_named_by_its_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact, "_remembered", set())
    remember_secret("kept-0123456789", "key of groq")
    assert KnownKeys().removed_from("x kept-0123456789 y") == "x [key of groq removed] y"


def test_words_numbers_and_paths_are_no_keys() -> None:
    plain = {
        "DB_PASSWORD": "postgres",
        "SSH_KEY": "/home/me/.ssh/id",
        "A_TOKEN": "123456789",
        "B_KEY": "short1",
        "N": KEY,
    }
    assert KnownKeys(plain).replacements.keys() <= set(redact.remembered_secrets())


@pytest.mark.parametrize("value", ["shop-dev-1", "us-east-1.db", "postgres15", "2024-01-01", "v1.2.3-rc1"])
def test_names_of_words_and_short_numbers_are_no_keys(value: str) -> None:
    assert KnownKeys({"POSTGRES_PASSWORD": value}).removed_from(f"name: {value}") == f"name: {value}"
    assert KnownKeys({"OPENAI_API_KEY": value}).removed_from(value) == "[OPENAI_API_KEY removed]"


@pytest.mark.parametrize(
    "value", ["a8Kd02mQx91LpZ44tRwe", "correct-horse-battery-staple", "x7k2p9q4", "qwertzuiopasdfghjklyx"]
)
def test_random_and_long_values_are_keys(value: str) -> None:
    assert KnownKeys({"POSTGRES_PASSWORD": value}).removed_from(f"pw: {value}") == "pw: [POSTGRES_PASSWORD removed]"


@given(st.lists(st.sampled_from([KEY, f"{KEY}-and-more", "x", "\n", "[note removed]"]), max_size=6))
def test_what_was_removed_is_put_back(texts: list[str]) -> None:
    there = "".join(texts)
    assert KEYS.put_back(KEYS.removed_from(there), there) == there


def test_the_form_that_the_file_has_is_put_back() -> None:
    for written in (PASSWORD, json.dumps(PASSWORD), quote(PASSWORD, safe="")):
        assert KEYS.put_back(f"new {KEYS.removed_from(written)}", f"old {written}") == f"new {written}"


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "GROQ_API_KEY", "OLD_TOKEN", "key of groq"])
def test_a_key_that_is_not_there_cannot_be_put_back(name: str) -> None:
    placeholder = f"[{name} removed]"
    with pytest.raises(KeyNotThere, match="this file does not hold that key"):
        KEYS.put_back(f"a={placeholder}", "a=1")
    assert KEYS.put_back(f"b={placeholder}", f"a={placeholder}") == f"b={placeholder}", "the file's own text"


def test_it_is_not_guessed_which_of_several_texts_was_meant() -> None:
    with pytest.raises(KeyNotThere, match="several texts of this file"):
        KEYS.put_back("a=[DB_PASS removed]", f"a={PASSWORD}\nb={quote(PASSWORD, safe='')}")


def test_json_stays_json_and_images_stay_as_they_are() -> None:
    value = {"text": [KEY, 1, None, {"deep": f"x{KEY}x"}], "image": {"kind": "binary", "data": KEY}}
    cleaned = KEYS.removed_from_all(value)
    assert json.loads(json.dumps(cleaned)) == cleaned
    assert cleaned["text"][3] == {"deep": "x[OPENAI_API_KEY removed]x"} and cleaned["image"] == value["image"]


@given(
    st.lists(st.sampled_from([KEY, f"{KEY}-and-more", KEY[:7], "sk-", "x", "\n", "ä"]), max_size=6),
    st.lists(st.integers(0, 60), max_size=8),
)
def test_a_stream_in_any_pieces_is_the_text_without_keys(texts: list[str], cuts: list[int]) -> None:
    data = "".join(texts).encode()
    at = sorted({min(each, len(data)) for each in (0, *cuts, len(data))})
    stream = KEYS.filter()
    passed = b"".join(stream.take(data[start:end]) for start, end in pairwise(at)) + stream.end()
    assert KEY.encode() not in passed
    restored = passed.replace(b"[LONGER_API_KEY removed]", f"{KEY}-and-more".encode())
    assert restored.replace(b"[OPENAI_API_KEY removed]", KEY.encode()) == data


SECRETS = (
    "DB_PASS", "MYSQL_PWD", "PGPASSWORD", "REDIS_PASS", "SMTP_PASSWD", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
    "GH_PAT", "NPM_TOKEN", "DOCKER_AUTH_CONFIG", "SENTRY_DSN", "STRIPE_APIKEY", "JWT", "SESSION_COOKIE", "GCP_CREDS",
    "SLACK_WEBHOOK_URL", "AZURE_STORAGE_CONNECTION_STRING", "KEY_PASSPHRASE", "DEPLOY_PRIVATE_KEY",
)  # fmt: skip
PLAIN = (
    "PWD",
    "OLDPWD",
    "PATH",
    "SSH_AUTH_SOCK",
    "SSH_ASKPASS",
    "XDG_SESSION_ID",
    "DESKTOP_SESSION",
    "COMPASS",
    "LANG",
)


def test_programs_that_are_started_inherit_nothing_that_looks_like_a_secret() -> None:
    environ = dict.fromkeys((*SECRETS, *PLAIN), "value") | {
        "DATABASE_URL": "postgres://me:secret@host/db",
        "HOOK": "https://hooks.slack.com/services/T0/B0/xyz",
        "CHAT": "xoxb-1234567890-abcdef",
        "CERTIFICATE": "-----BEGIN RSA PRIVATE KEY-----\nabc",
    }
    assert set(without_secrets(environ)) == set(PLAIN)
