"""The appearance of the app: its theme, from settings and terminal, and reduced motion."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path, PurePath
from typing import Any, Final

from textual.app import App
from textual.theme import Theme

from co_tui.settings import Settings
from co_tui.ui.text.text_rendering import TextRenderer
from co_tui.ui.textual_internals import refresh_ansi_filter, replace_line_filters
from co_tui.ui.themes.themes import (
    DARK,
    OURS,
    palette_of,
    set_reduced_motion,
    theme_named,
    with_readable_dim,
    without_colours,
)

NO_COLOR: Final = "NO_COLOR"
UI: Final = Path(__file__).parent


class Appearance:
    """Applies the theme setting, and follows the terminal between dark and light."""

    def __init__(self, app: App[Any], settings: Settings, *, terminal_is_dark: bool) -> None:
        self._app = app
        self._setting, self._images = settings.theme, settings.images
        self._terminal_is_dark = terminal_is_dark
        for theme in OURS:
            app.register_theme(theme)
        replace_line_filters(app, without_colours if app.no_color else with_readable_dim)
        set_reduced_motion(app, settings.reduced_motion == "on")
        self._begin_with(self._theme_name)

    @property
    def _theme_name(self) -> str:
        if self._app.no_color:
            return DARK.name  # its backgrounds distinguish what is reversed instead
        return theme_named(self._setting, terminal_is_dark=self._terminal_is_dark)

    def _begin_with(self, name: str) -> None:
        """Set the theme without parsing every style sheet a second time before the first paint."""
        app = self._app
        app.set_reactive(App.theme, name)
        dark = app.current_theme.dark
        app.update_classes({f"-theme-{name}": True, "-dark-mode": dark, "-light-mode": not dark}, update=False)
        refresh_ansi_filter(app)
        app.stylesheet.set_variables(app.get_css_variables())

    @property
    def draws_images(self) -> bool:
        """Whether images are switched on and the terminal has enough colours for them."""
        enough = self._app.console.color_system in ("truecolor", "256", "windows")
        return self._images == "on" and enough and not self._app.no_color

    def follow(self, settings: Settings) -> None:
        """Apply settings that may have changed."""
        set_reduced_motion(self._app, settings.reduced_motion == "on")
        drew, self._images = self.draws_images, settings.images
        if drew != self.draws_images:
            self._app.theme_changed_signal.publish(self._app.current_theme)  # redraws the chat
        self.use(settings.theme)

    def use(self, setting: str) -> None:
        """Use a theme, named as in the settings."""
        self._setting = setting
        self._change_to(self._theme_name)

    def terminal_reported(self, dark: bool) -> None:
        """The terminal reported its background."""
        self._terminal_is_dark = dark
        self._change_to(self._theme_name)

    def _change_to(self, name: str) -> None:
        """Switch in one frame: style sheets and transcript change before anything is drawn."""
        if name != self._app.theme:
            batch = ExitStack()
            batch.enter_context(self._app.batch_update())
            self._app.theme = name
            self._app.call_next(batch.close)


def style_sheets(environ: Mapping[str, str]) -> list[str | PurePath]:
    """The style sheets of the first paint."""
    colourless = [UI / "themes" / "no_color.tcss"] if NO_COLOR in environ else []
    return [UI / "chat" / "chat.tcss", *colourless]


def renderer_for(theme: Theme, *, rich: bool = True, draws_images: bool = False) -> TextRenderer:
    return TextRenderer(palette_of(theme), rich=rich, draws_images=draws_images)
