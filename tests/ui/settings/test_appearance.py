"""Colours: the terminal's own as soon as it reports them, any theme, none at all; and reduced motion."""

import io
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from textual.color import Color
from textual.events import Key
from textual.message import Message
from textual.theme import BUILTIN_THEMES

from co_tui.settings.rules import THEMES
from co_tui.ui.app import CoTui
from co_tui.ui.prompt.activity import FRAMES, STILL_FRAME
from co_tui.ui.terminal import driver
from co_tui.ui.terminal.before_app import has_dark_background
from co_tui.ui.terminal.driver import BackgroundReported, QuietParser, use_ascii_symbols
from co_tui.ui.terminal.terminal_facts import KnownTerminals
from co_tui.ui.themes.themes import (
    CHOSEN_SHARE,
    MARK_CONTRAST,
    OURS,
    TEXT_COLOURS,
    TEXT_CONTRAST,
    contrast,
    own_variables,
    palette_of,
    theme_named,
)
from tests.support.long_run import LONG_RUN
from tests.support.provider import Provider, Reply
from tests.support.screen import launch_for, running, screen_text, type_text, until

LIGHT_REPLY = "\x1b]11;rgb:ffff/ffff/f8f8"


def heard(parser: QuietParser, *chunks: str) -> list[Message]:
    return [message for chunk in chunks for message in (*parser.feed(chunk), *parser.tick())]


def test_a_locale_without_our_signs_gets_others_of_the_same_width() -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="iso-8859-1", errors="replace")
    use_ascii_symbols(stream)
    stream.write("╭─ Café ─╮│█▓▒░┆│ ◆ 4.5k → 21k · 漢 \x1b[1m")
    stream.flush()
    assert written.getvalue().decode("iso-8859-1") == "+- Café -+|#%=.|| * 4.5k > 21k · ?? \x1b[1m"
    whole = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace")
    use_ascii_symbols(whole)
    assert whole.errors == "replace"


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = time.monotonic() + seconds
    monkeypatch.setattr(driver, "time", SimpleNamespace(monotonic=lambda: now))


def keys(messages: list[Message]) -> str:
    return "".join(message.character or f"<{message.key}>" for message in messages if isinstance(message, Key))


def told(messages: list[Message]) -> list[bool]:
    return [message.dark for message in messages if isinstance(message, BackgroundReported)]


@pytest.mark.parametrize("end", ["\x07", "\x1b\\"])
def test_an_answer_is_heard_and_never_typed_wherever_it_is_cut(end: str) -> None:
    reply = f"{LIGHT_REPLY}{end}"
    for at in range(1, len(reply)):
        messages = heard(QuietParser(), "a" + reply[:at], reply[at:] + "b")
        assert (keys(messages), told(messages)) == ("ab", [False]), f"cut at {at}"
    assert keys(heard(QuietParser(), *f"a{reply}b")) == "ab", "byte by byte"


def test_an_answer_whose_end_takes_seconds_is_no_key_either(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = QuietParser()
    assert keys(heard(parser, "a" + LIGHT_REPLY[:9])) == "a"
    later(monkeypatch, 5)
    assert told(messages := heard(parser, f"{LIGHT_REPLY[9:]}\x07b")) == [False] and keys(messages) == "b"


def test_an_escape_waits_only_a_moment_to_be_the_beginning_of_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = QuietParser()
    assert keys(heard(parser, "x\x1b")) == "x"
    later(monkeypatch, 0.3)
    list(parser.tick())
    monkeypatch.setattr("textual._parser.get_time", lambda: time.monotonic() + 1)
    assert [event.key for event in parser.tick() if isinstance(event, Key)] == ["escape"]
    assert keys(heard(parser, f"{LIGHT_REPLY}\x07\x1b", "[A")) == "<up>"


def test_a_terminal_that_changes_between_dark_and_light_is_heard() -> None:
    assert told(heard(QuietParser(), "\x1b[?997;2n", "\x1b[?99", "7;1n")) == [False, True]


def test_what_is_known_of_the_terminal_before_the_first_paint(home: Path) -> None:
    assert has_dark_background(f"typed{LIGHT_REPLY}\x07", "15;0") is False, "its answer counts most"
    assert has_dark_background("typed", "0;15") is False and has_dark_background("", "15;0") is True
    assert has_dark_background("\x1b]11;?;odd\x07") is None and has_dark_background("\x1b]11;#101010\x07") is True
    launch = launch_for(home)
    here, there = ({"TERM": "xterm-kitty"}, {"TERM": "xterm-256color"})
    assert KnownTerminals(launch.paths, here).is_dark() is None
    KnownTerminals(launch.paths, here).note(False)
    assert (
        KnownTerminals(launch.paths, here).is_dark() is False and KnownTerminals(launch.paths, there).is_dark() is None
    )
    (launch.paths.state / "terminals.json").write_text("[[[")
    assert KnownTerminals(launch.paths, here).is_dark() is None


async def test_the_answer_changes_the_theme_that_follows_and_no_other(home: Path, provider: Provider) -> None:
    launch = launch_for(home, provider, environ={"TERM": "of-a-test"})
    app = CoTui(launch, typed_ahead=f"he{LIGHT_REPLY[:12]}")
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.chat.prompt.text == "he")
        assert app.theme == "co-tui-dark" and app.key_parser is not None
        for message in heard(app.key_parser, f"{LIGHT_REPLY[12:]}\x1b\\"):
            app.post_message(message)
        await until(pilot, lambda: app.theme == "co-tui-light")
        await until(pilot, lambda: KnownTerminals(launch.paths, launch.environ).is_dark() is False)
        assert app.renderer.palette.text == app.current_theme.foreground and app.chat.prompt.text == "he"
        app.chat.prompt.text = ""
        await type_text(pilot, "/theme nord\n")
        await until(pilot, lambda: app.theme == "nord")
        app.post_message(BackgroundReported(dark=True))
        await pilot.pause()
        assert app.theme == "nord", "a theme that was chosen stays"
        await app.action_quit()


async def test_every_theme_that_can_be_set_can_be_used(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider)) as (app, pilot):
        for name in THEMES if LONG_RUN else [*THEMES][::4]:
            app.appearance.use(name)
            assert app.theme in {theme.name for theme in OURS} | set(BUILTIN_THEMES)
            if app.current_theme.ansi:  # text under the others is looked at with its contrast
                await pilot.pause()
                assert "Context" in screen_text(app)


def test_contrast_is_measured_as_wcag_does() -> None:
    black, white, grey = Color.parse("#000"), Color.parse("#fff"), Color.parse("#777777")
    assert contrast(black, white) == pytest.approx(21) and contrast(grey, grey) == 1
    assert contrast(white, grey) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("name", sorted({theme_named(name, terminal_is_dark=True) for name in THEMES}))
def test_every_theme_can_be_read(name: str) -> None:
    theme = {**BUILTIN_THEMES, **{theme.name: theme for theme in OURS}}[name]
    if theme.ansi:
        return  # the terminal's own colours are its own
    least = 7.0 if "contrast" in name else TEXT_CONTRAST
    colours = {**theme.to_color_system().generate(), **theme.variables, **own_variables(theme)}
    grounds = {ground: Color.parse(colours[ground]) for ground in ("background", "surface", "panel")}
    primary = Color.parse(colours["primary"])
    chosen = [grounds[ground].blend(primary, CHOSEN_SHARE) for ground in ("background", "surface")]
    for text in ("foreground", "muted", *TEXT_COLOURS):
        for ground, colour in grounds.items():
            found = contrast(Color.parse(colours[text]), colour)
            assert found >= least, f"{text} on {ground}: {found:.1f}"
        for colour in chosen:
            assert contrast(Color.parse(colours[text]), colour) >= TEXT_CONTRAST, f"{text} of a chosen entry"
    assert contrast(Color.parse(colours["scrollbar"]), Color.parse(colours["background"])) >= MARK_CONTRAST
    palette = palette_of(theme)
    for said in (palette.text, palette.muted, palette.accent, palette.reply, palette.compaction, palette.error):
        assert contrast(Color.parse(said), Color.parse(colours["background"])) >= least


async def test_without_colours_there_is_none_and_the_cursor_is_still_seen(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "NO_COLOR", "1")
    async with running(launch_for(home, provider, environ={"NO_COLOR": "1"})) as (app, pilot):
        app.chat.prompt.cursor_blink = False
        app.chat.prompt.insert("/")
        await until(pilot, lambda: "/sessions" in screen_text(app))
        segments = [segment for strip in app.screen._compositor.render_strips(app.size) for segment in strip]
        styles = [segment.style for segment in segments if segment.style]
        assert not any(style.color or style.bgcolor for style in styles)
        reversed_texts = [segment.text for segment in segments if segment.style and segment.style.reverse]
        assert any("/help" in text for text in reversed_texts), "what is chosen in a list"
        assert " " in reversed_texts, "the cursor"


async def test_nothing_moves_when_nothing_may(home: Path, provider: Provider) -> None:
    provider.default = Reply(text="slow words " * 400, delay_s=0.05, open_end=True)
    async with running(launch_for(home, provider, environ={"CO_TUI_REDUCED_MOTION": "on"})) as (app, pilot):
        assert not app.chat.prompt.cursor_blink
        app.chat.prompt.insert("talk")
        await pilot.press("enter")
        await until(pilot, lambda: STILL_FRAME in str(app.chat.prompt.border_title))
        assert not set(FRAMES) & set(screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: app.controller.idle)
        await type_text(pilot, "/config reduced_motion off\n")
        await until(pilot, lambda: "It has no effect while the environment" in screen_text(app))
