"""`co-tui run --host`: the conversation here, the tools there; the session says where it works."""

import json
from pathlib import Path

import pytest

from tests.support.here import Here
from tests.support.provider import Provider, Reply
from tests.support.ssh_host import SshHost, files_in, stand_in_host


@pytest.fixture
def host(tmp_path: Path) -> SshHost:
    made = stand_in_host(tmp_path / "box")
    (made.home / "shop").mkdir()
    (made.home / "shop/login.py").write_text("word = 'helo'\n")
    (made.home / "shop/.co-tui.toml").write_text('mode = "auto"\n[permissions]\nallow = ["Bash"]\n')
    return made


@pytest.fixture
def here(home: Path, host: SshHost, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    folder = tmp_path / "local"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", host.environ["PATH"])
    monkeypatch.setenv("CO_TUI_HOME", str(home))
    monkeypatch.setenv("CO_TUI_MODEL", "openai-chat:scripted")
    monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    provider.window = 60_000
    edit = {"path": "login.py", "old_text": "helo", "new_text": "hello"}
    provider.script = [
        Reply(text="", tool=("edit_file", json.dumps(edit))),
        Reply(text="", tool=("run_command", json.dumps({"command": "touch made"}))),
    ]
    return Here(home, folder)


def test_the_work_is_done_there_and_the_session_is_resumed_there(here: Here, host: SshHost, tmp_path: Path) -> None:
    done = here("run", "--host", "me@box", "shop", "-p", "mend it", "--yes")
    assert done.code == 0, done.err
    assert files_in(host.home / "shop")["login.py"] == "word = 'hello'\n" and (host.home / "shop/made").exists()
    assert list((tmp_path / "local").iterdir()) == []
    row = json.loads(here("sessions", "--json").out)
    assert row["cwd"] == f"me@box:{host.home}/shop"
    assert "(on me@box)" in here("sessions").out
    without = here("run", "--session", row["id"], "-p", "more")
    assert without.code == 2 and f"--host me@box '{host.home}/shop' --resume {row['id']}" in without.err
    again = here("run", "--host", "me@box", f"{host.home}/shop", "--continue", "-p", "more words " * 400)
    assert again.code == 0 and json.loads(here("sessions", "--json").out)["id"] == row["id"]
    assert "works on me@box" in here("diff", row["id"]).err
    assert here("compact", row["id"]).code == 0, "its log is here"


def test_settings_of_the_folder_there_are_not_read(here: Here, host: SshHost) -> None:
    done = here("run", "--host", "me@box", "shop", "-p", "mend it")
    assert done.code == 1 and done.err.count("needs approval; use --yes") == 2
    assert not (host.home / "shop/made").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--host", "box", "/nowhere"), "box:/nowhere cannot be used as a folder: No such file or directory."),
        (("--host", "a b"), "--host 'a b' is not a host. Give it as ssh takes it: user@box."),
        (("--host=-oProxyCommand=x",), "is not a host. Give it as ssh takes it: user@box."),
    ],
)
def test_a_host_that_cannot_be_used_is_one_sentence(here: Here, arguments: tuple[str, ...], sentence: str) -> None:
    done = here("run", *arguments, "-p", "hi")
    assert done.code == 2 and sentence in done.err and len(done.err.splitlines()) == 1


def test_a_host_that_refuses_is_one_sentence(here: Here, host: SshHost) -> None:
    with host.down():
        done = here("run", "--host", "box", "-p", "hi")
    assert (done.code, done.err) == (2, "co-tui: No connection to box: it refuses the connection.\n")
