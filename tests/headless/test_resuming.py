"""Continuing a stored session from the command line: in which folder, and with which model."""

from pathlib import Path

import pytest

from co_tui.events import Message, SessionStart
from tests.support.here import Here
from tests.support.stores import listed, store_in


@pytest.mark.parametrize("gone", [False, True])
def test_a_session_of_another_folder_works_here_and_it_is_said(served_here: Here, tmp_path: Path, gone: bool) -> None:
    folder = tmp_path / "shop"
    if not gone:
        folder.mkdir()
    stored(served_here.home, cwd=str(folder))
    done = served_here("run", "--session", "s-1", "-p", "again")
    why = " (deleted)" if gone else ""
    assert done.code == 0 and f"worked in {folder}{why}; it now works in " in done.err
    assert [row.cwd for row in listed(served_here.home)] != [str(folder)]


def test_a_session_whose_model_is_gone_says_what_to_do(served_here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CO_TUI_MODEL")
    stored(served_here.home, model="anthropic:claude-long-gone")
    done = served_here("run", "--session", "s-1", "-p", "again")
    assert done.code == 1 and "anthropic:claude-long-gone needs a key" in done.err and "--model" in done.err
    assert served_here("run", "--session", "s-1", "-p", "again", "--model", "openai-chat:scripted").code == 0
    assert [row.model for row in listed(served_here.home)] == ["openai-chat:scripted"]


def test_the_latest_session_that_is_free_is_continued_and_named(served_here: Here) -> None:
    cwd = str(served_here.cwd)
    for name in ("s-1", "s-2"):
        stored(served_here.home, cwd=cwd, name=name)
    stored(served_here.home, cwd="/elsewhere", name="s-3")
    with store_in(served_here.home) as store, store.claim("s-2"):
        done = served_here("run", "--continue", "-p", "again")
        assert done.code == 0 and "open in another co-tui. Continuing session s-1 “a shop”.\n" in done.err
        with store.claim("s-1"):
            refused = served_here("run", "--continue", "-p", "again")
    assert refused.code == 1 and "is open in another co-tui" in refused.err, "no other folder's session instead"


def test_a_new_session_is_named_unless_it_is_private(served_here: Here) -> None:
    said = served_here("run", "-p", "hi").err
    (row,) = listed(served_here.home)
    assert said == f"co-tui: Session {row.id}.\n"
    assert "Session" not in served_here("run", "--private", "-p", "hi").err


def stored(
    home: Path, *, cwd: str = "", model: str = "openai-chat:scripted", policy: str = "", name: str = "s-1"
) -> None:
    request = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "a shop"}]}
    reply = {"kind": "response", "parts": [{"part_kind": "text", "content": "Open."}]}
    start = SessionStart(model=model, policy=policy, cwd=cwd)
    facts = [start, Message(turn=1, message=request), Message(turn=1, message=reply)]
    with store_in(home) as store:
        store.writing().append(name, facts).result()
