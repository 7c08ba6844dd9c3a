"""Files named in the prompt: shown as one line each, and what cannot go along keeps the prompt."""

from pathlib import Path

from tests.session.test_attachments import png
from tests.support.provider import Provider
from tests.support.screen import ask, launch_for, running, screen_text, transcript_text, until


async def test_an_attached_file_is_one_folded_line_below_the_words(home: Path, provider: Provider) -> None:
    home.parent.joinpath("notes.md").write_text("first\n" + "\x1b[31mred\n" * 9)
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "read @notes.md")
        words, file = provider.requests[0]["messages"][-1]["content"]
        assert words["text"] == "read @notes.md" and "Attached file: notes.md" in file["text"]
        (line,) = [line for line in screen_text(app).splitlines() if "▸ attached  notes.md" in line]
        assert "10 lines" in line and "red" not in screen_text(app)
        assert "\x1b" not in transcript_text(app)
        session_id = app.controller.session_id
    async with running(launch_for(home, provider, session_id=session_id)) as (app, pilot):
        assert "▸ attached  notes.md" in screen_text(app), "the same when it is read again"
        await pilot.press("up")
        assert app.chat.prompt.text == "read @notes.md"


async def test_what_was_cut_says_so_on_its_line(home: Path, provider: Provider) -> None:
    home.parent.joinpath("long.md").write_text("word " * 50_000)
    async with running(launch_for(home, provider)) as (app, pilot):
        await ask(app, pilot, "read @long.md")
        (line,) = [line for line in screen_text(app).splitlines() if "▸ attached  long.md" in line]
        assert "first 10,240 characters of 250,000 bytes" in line


async def test_a_missing_file_is_said_before_sending_and_enter_again_sends_the_words(
    home: Path, provider: Provider
) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        app.chat.prompt.insert("read @gone.md")
        await pilot.press("enter")
        await until(pilot, lambda: "No file gone.md" in transcript_text(app))
        assert app.chat.prompt.text == "read @gone.md" and not provider.requests
        await pilot.press("enter")
        await until(pilot, lambda: len(provider.requests) == 1)
        assert provider.requests[0]["messages"][-1]["content"] == "read @gone.md"


async def test_a_model_that_sees_nothing_gets_no_image_and_the_prompt_comes_back(home: Path) -> None:
    home.parent.joinpath("shot.png").write_bytes(png())
    async with running(launch_for(home, environ={"CO_TUI_MODEL": "embedded"})) as (app, pilot):
        app.chat.prompt.insert("what is @shot.png")
        await pilot.press("enter")
        await until(pilot, lambda: "shot.png is an image, and this model takes none" in transcript_text(app))
        assert app.chat.prompt.text == "what is @shot.png"
        assert app.controller.state.turn == 0
