"""`co-tui rewind` and `co-tui diff`: the conversation, its files, or both, without a model."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.here import Here
from tests.support.provider import Provider, Reply


def call(tool: str, **arguments: Any) -> Reply:
    return Reply(text="", tool=(tool, json.dumps(arguments)))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for all tests: what is stored names it."""
    return tmp_path_factory.mktemp("place")


@pytest.fixture
def home(place: Path) -> Path:
    return place / "now" / "home"


@pytest.fixture
def folder(place: Path) -> Path:
    """As it was after two turns, each of which changed a file."""
    shutil.rmtree(place / "now", ignore_errors=True)
    if (kept := place / "kept").exists():
        shutil.copytree(kept, place / "now", symlinks=True)
    else:
        (place / "now" / "shop").mkdir(parents=True)
        (place / "now" / "shop" / "login.py").write_text("word = 'helo'\n")
    return place / "now" / "shop"


@pytest.fixture
def here(home: Path, folder: Path, provider: Provider, place: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    """The two turns are made once; then the provider is gone."""
    monkeypatch.chdir(folder)
    provider.window = 60_000
    command = Here(home, folder)
    monkeypatch.setenv("CO_TUI_HOME", str(home))
    if home.exists():
        return command
    with monkeypatch.context() as at_work:
        at_work.setenv("CO_TUI_MODEL", "openai-chat:scripted")
        at_work.setenv("OPENAI_BASE_URL", provider.url)
        at_work.setenv("OPENAI_API_KEY", "sk-test")
        provider.script = [
            call("edit_file", path="login.py", old_text="helo", new_text="hello"),
            Reply("done"),
            call("run_command", command="printf 2 > login.py; printf n > new.py"),
        ]
        assert command("run", "-p", "mend it", "--yes").code == 0
        assert command("run", "--continue", "-p", "more", "--yes").code == 0
    shutil.copytree(place / "now", place / "kept", symlinks=True)
    return command


def _id(here: Here) -> str:
    return str(here("sessions", "--json").objects[0]["id"])


def test_both_go_back_and_the_events_are_printed_as_logged(here: Here, folder: Path) -> None:
    done = here("rewind", _id(here), "2", "--files", "--json")
    assert done.code == 0 and "Rewound to before turn 2. 2 files restored." in done.err
    rewind, restored, became = done.objects
    assert rewind["type"] == "session.rewind" and restored["type"] == "files.restored"
    assert {"turn", "paths", "snapshot"} <= restored["payload"].keys()
    assert became == {
        "restored": ["login.py", "new.py"], "kept": [], "failed": [], "not_covered": [], "commits": [],
    }  # fmt: skip
    assert restored["payload"]["turn"] == 2 and restored["payload"]["paths"] == ["login.py", "new.py"]
    assert (folder / "login.py").read_text() == "word = 'hello'\n" and not (folder / "new.py").exists()
    shown = here("show", _id(here), "--history", "--json").objects
    assert {each["turn"] for each in shown} == {1}


def test_files_only_and_the_conversation_only(here: Here, folder: Path) -> None:
    done = here("rewind", _id(here), "1", "--files-only")
    assert done.code == 0 and "2 files restored." in done.err and "Rewound" not in done.err and done.out == ""
    assert (folder / "login.py").read_text() == "word = 'helo'\n"
    assert {each["turn"] for each in here("show", _id(here), "--history", "--json").objects} == {1, 2}
    done = here("rewind", _id(here), "2")
    assert done.code == 0 and "Rewound to before turn 2." in done.err
    assert (folder / "login.py").read_text() == "word = 'helo'\n"


def test_what_the_session_never_changed_does_not_matter(here: Here, folder: Path) -> None:
    (folder / "mine.py").write_text("mine")
    done = here("rewind", _id(here), "2", "--files")
    assert done.code == 0 and "2 files restored." in done.err and "mine.py" not in done.err
    assert (folder / "mine.py").read_text() == "mine" and not (folder / "new.py").exists()


def test_what_was_changed_by_hand_is_kept_and_named_and_the_rest_is_restored(here: Here, folder: Path) -> None:
    (folder / "login.py").write_text("mine")
    done = here("rewind", _id(here), "2", "--files", "--json")
    assert done.code == 0
    assert "1 file restored. Left as they are, changed by others since: login.py." in done.err
    assert (done.objects[-1]["restored"], done.objects[-1]["kept"]) == (["new.py"], ["login.py"])
    assert (folder / "login.py").read_text() == "mine" and not (folder / "new.py").exists()
    assert {each["turn"] for each in here("show", _id(here), "--history", "--json").objects} == {1}


def test_force_overwrites_it(here: Here, folder: Path) -> None:
    (folder / "login.py").write_text("mine")
    (folder / "new.py").unlink()
    (folder / "mine.py").write_text("mine")
    done = here("rewind", _id(here), "2", "--files-only", "--force", "--json")
    assert done.code == 0 and (done.objects[-1]["restored"], done.objects[-1]["kept"]) == (["login.py"], [])
    assert (folder / "login.py").read_text() == "word = 'hello'\n" and (folder / "mine.py").read_text() == "mine"
    wrong = here("rewind", _id(here), "2", "--force")
    assert wrong.code == 2 and "--force is about files" in wrong.err


def test_a_turn_that_is_not_there_is_named(here: Here) -> None:
    done = here("rewind", _id(here), "9", "--files")
    assert done.code == 1 and "No turn 9. This session has 2." in done.err
    assert here("rewind", _id(here), "0").code == 2


def test_diff_prints_each_file(here: Here, folder: Path) -> None:
    done = here("diff", _id(here))
    assert done.code == 0 and "-word = 'helo'" in done.out and "+++ new.py" in done.out
    assert "2 files changed, +2 −1." in done.err
    one, two = here("diff", _id(here), "--json").objects
    assert (one["path"], one["change"], one["added"], one["removed"]) == ("login.py", "changed", 1, 1)
    assert (two["path"], two["change"]) == ("new.py", "new") and two["diff"].startswith("--- new file")


def test_doctor_reports_the_size(here: Here) -> None:
    seen = here("doctor").out
    assert "snapshots" in seen and "1 session, at most 5 GB" in seen


def test_the_context_is_measured_again_after_a_rewind(served_here: Here, provider: Provider) -> None:
    provider.default = Reply(text="some words " * 100, prompt_tokens=-1)

    def tokens() -> str:
        return served_here("run", "--continue", "-p", "/context").out.splitlines()[0]

    assert served_here("run", "-p", "one").code == served_here("run", "--continue", "-p", "two").code == 0
    before = tokens()
    assert served_here("rewind", _id(served_here), "2").code == 0
    assert before.startswith("context ") and tokens() != before
