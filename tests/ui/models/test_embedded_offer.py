"""The first start on a machine without the embedded model."""

import asyncio
from pathlib import Path

import pytest

from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.ui.chat.title_line import EMBEDDED_NOTICES, MISSING_NOTICES
from co_tui.ui.chat.welcome import welcome
from tests.support.installed import without_the_embedded_model
from tests.support.screen import launch_for, running, screen_text, transcript_text, until


async def test_it_is_offered_once_and_fetched_in_the_background(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_the_embedded_model(monkeypatch)
    outcomes: list[str] = ["held", "failed"]

    async def fetch(fetched: Path, environ: object, progressed: object) -> None:
        assert callable(progressed)
        progressed(0.5)
        if outcomes.pop(0) == "held":
            await asyncio.Event().wait()
        raise ModelUnusable("There is no network.")

    monkeypatch.setattr("co_tui.agent.local.embedded_fetch.fetch", fetch)
    async with running(launch_for(home), size=(80, 24)) as (app, pilot):
        await until(pilot, lambda: "No model yet" in screen_text(app))
        assert "Fetch it (127 MB)" in screen_text(app) and "No model yet" in screen_text(app)
        await pilot.press("f")
        await until(pilot, lambda: "50 %   64 of 127 MB" in screen_text(app))
        await pilot.press(*"hi", "enter")  # whoever types goes on typing, and what is sent waits
        await until(pilot, lambda: "▌ hi" in screen_text(app) and "starting…" in screen_text(app))
        assert app.focused is app.chat.prompt
        await pilot.press("escape")  # as its line of keys says, wherever the focus is
        await until(pilot, lambda: "Download cancelled" in transcript_text(app) and app.chat.prompt.text == "hi")
        assert "is not installed" in transcript_text(app)
        app.run_command("fetch", "")
        await until(pilot, lambda: "There is no network. /fetch tries again." in transcript_text(app))
        assert "Downloading" not in screen_text(app)
    async with running(launch_for(home), size=(80, 24)) as (app, pilot):
        await until(pilot, lambda: "No model yet" in screen_text(app))
        await pilot.press("tab", "escape")  # "hi" is in the prompt again, so that it does not take the keys by itself
        await until(pilot, lambda: "Download later with /fetch" in transcript_text(app))
    assert "embedded-model-offered" in (home / "state" / "hints.json").read_text()


def test_the_first_screen_fits_the_smallest_terminal() -> None:
    shortest = [words[-1].format("F6") for words in (EMBEDDED_NOTICES, MISSING_NOTICES)]
    assert all(len(words) <= 58 and "F6" in words for words in shortest)


def test_the_first_screen_names_what_is_in_the_folder(tmp_path: Path) -> None:
    assert "@" not in welcome(tmp_path, in_repository=False) and "!ls " in welcome(tmp_path, in_repository=False)
    for name in ("a b.md", ".hidden-file", ".env", "id_rsa", "much-too-long-a-name.txt", "zebra.txt"):
        (tmp_path / name).touch()
    assert "What does @zebra.txt say?" in welcome(tmp_path, in_repository=False)
    (tmp_path / "README.md").touch()
    told = welcome(tmp_path, in_repository=True)
    assert "What does @README.md say?" in told and "!git status" in told
    assert len(told.splitlines()) <= 7 and max(map(len, told.splitlines())) <= 53
    assert "@" not in welcome(tmp_path / "gone", in_repository=False)
