"""Every word on the screen can be read under every theme, dim ones too."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.geometry import Region
from textual.pilot import Pilot
from textual.theme import BUILTIN_THEMES

from co_tui.ui.app import CoTui
from co_tui.ui.themes.themes import OURS, TEXT_CONTRAST, ReadableDim, contrast
from tests.support.long_run import LONG_RUN, also_in_a_long_run
from tests.support.pictures import Scene
from tests.support.provider import Provider
from tests.support.screen import launch_for, screen_text, type_text, until
from tests.ui.pictures.test_pictures import Compacted, shown

ROUNDING = 0.05
OTHER_THEMES = [name for name, theme in BUILTIN_THEMES.items() if not theme.ansi]
DIMMED_BY_THE_TERMINAL = 0.5


def opened(*keys: str, words: str) -> Scene:
    async def scene(pilot: Pilot[None]) -> None:
        await shown(pilot)
        for key in keys:
            await (type_text(pilot, key) if key.startswith("/") else pilot.press(key))
        await until(pilot, lambda: words in screen_text(pilot.app))

    return scene


SCENES = {
    "chat": opened(words="Timeline"),
    "timeline": opened("ctrl+l", words="Conversation"),
    "help": opened("f1", words="Type to search"),
    "keys": opened("?", words="Scroll"),
    "models": opened("f6", words="Choose a model"),
    "policies": opened("/policy \n", words="Choose a policy"),
    "settings": opened("/settings \n", words="agent_max_steps"),
    "leader": opened("ctrl+x", words="Ctrl+X, then"),
}


def themes_for(scene: str) -> list[str]:
    """All of ours in the first scene, whose colours all scenes have, and of the other themes one a scene; in a long run
    all. Pictures hold the colours of each scene under ours."""
    ours, place = [theme.name for theme in OURS], list(SCENES).index(scene)
    if LONG_RUN:
        return [*ours, *OTHER_THEMES]
    return [OTHER_THEMES[place]] if place else [*ours, OTHER_THEMES[place]]


def drawn(app: CoTui) -> Iterator[tuple[str, Style]]:
    """The words of the screen with their styles; of a dialog, only those in its box."""
    boxes = app.screen.query(".dialog > Vertical")
    region = boxes.first().region if boxes else Region(0, 0, *app.size)
    for strip in app.screen._compositor.render_strips(app.size)[region.y : region.bottom]:
        for segment in strip.crop(region.x, region.right):
            is_word = len(segment.text) > 1  # else probably the letter under the cursor
            if is_word and any(map(str.isalnum, segment.text)) and segment.style is not None:
                yield segment.text.strip(), segment.style


def seen_contrast(style: Style) -> float:
    assert style.color is not None and style.bgcolor is not None, style
    text, ground = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
    return contrast(text.blend(ground, DIMMED_BY_THE_TERMINAL) if style.dim else text, ground)


async def test_all_text_is_readable_under_every_theme(home: Path, provider: Provider) -> None:
    weak: dict[tuple[str, str], set[tuple[str, str]]] = {}
    async with Compacted(launch_for(home, provider)).run_test(size=(120, 40)) as pilot:
        for name, scene in SCENES.items():
            await scene(pilot)
            count = 0
            for theme in themes_for(name):
                pilot.app.theme = theme
                await pilot.pause(0.1)
                for text, style in drawn(pilot.app):
                    count += 1
                    if (found := seen_contrast(style)) < TEXT_CONTRAST - ROUNDING:
                        weak.setdefault((name, theme), set()).add((text[:30], f"{found:.1f} {style}"))
            assert count > 20, name
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen is pilot.app.chat)
            pilot.app.chat.prompt.focus()
    assert not weak


@pytest.mark.parametrize("theme", OURS, ids=lambda theme: theme.name)
@pytest.mark.parametrize("name", ["foreground", "primary", "accent", "warning", "error"])
def test_dim_text_is_weaker_and_still_readable(theme, name: str) -> None:
    colour, ground = Color.parse(getattr(theme, name)), Color.parse(theme.background)
    style = Style(color=colour.rich_color, bgcolor=ground.rich_color, dim=True)
    (dimmed,) = ReadableDim().apply([Segment("left the context", style)], ground)
    assert dimmed.style is not None and not dimmed.style.dim
    assert TEXT_CONTRAST <= seen_contrast(dimmed.style) <= contrast(colour, ground)


CHOSEN = also_in_a_long_run(
    [(("f6",), "claude-sonnet-5"), (("/settings \n",), "model")],
    [(("ctrl+x", "y"), "balanced"), (("ctrl+p",), "/help")],
)


async def test_without_colours_the_chosen_line_is_reversed(
    home: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with Compacted(launch_for(home, provider, environ={"NO_COLOR": "1"})).run_test(size=(120, 40)) as pilot:
        for keys, chosen in CHOSEN:
            await opened(*keys, words=chosen)(pilot)
            await until(
                pilot,
                lambda chosen=chosen: any(style.reverse and chosen in text for text, style in drawn(pilot.app)),
            )
            lines = [text for text, style in drawn(pilot.app) if style.reverse]
            assert len(lines) <= 4, "only the chosen line"
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen is pilot.app.chat)
