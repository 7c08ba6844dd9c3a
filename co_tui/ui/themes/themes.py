"""Our themes, and what the transcript takes from any theme."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from co_tui.ui.themes.contrast import MARK_CONTRAST, readable
from co_tui.ui.themes.text_colours import Palette

TEXT_COLOURS: Final = ("primary", "secondary", "accent", "warning", "error", "success", "footer-key-foreground")
CHOSEN_SHARE: Final = 0.15
"""Of the primary colour in the background of an entry that is chosen."""
BORDER_SHARE: Final = 0.22
"""Of the text's colour in the borders of a theme that is not ours: seen, and not looked at."""

DARK: Final = Theme(
    name="co-tui-dark",
    primary="#7aa2f7",
    secondary="#9ece6a",
    accent="#bb9af7",
    warning="#e0af68",
    error="#f7768e",
    success="#9ece6a",
    foreground="#c8d0e8",
    background="#16181f",
    surface="#1c1f29",
    panel="#252a38",
    dark=True,
    variables={"muted": "#8a93b3", "border": "#3b4261", "scrollbar": "#5a6488", "footer-key-foreground": "#7aa2f7"},
)

LIGHT: Final = Theme(
    name="co-tui-light",
    primary="#2456c4",
    secondary="#326b18",
    accent="#7a3fc0",
    warning="#865408",
    error="#bd2038",
    success="#326b18",
    foreground="#24283b",
    background="#f7f7f4",
    surface="#efefeb",
    panel="#dfe0e6",
    dark=False,
    variables={"muted": "#595e76", "border": "#b4b8c8", "scrollbar": "#868ca3", "footer-key-foreground": "#2456c4"},
)

HIGH_CONTRAST: Final = Theme(
    name="high-contrast",
    primary="#5fd7ff",
    secondary="#87ff5f",
    accent="#ff9cff",
    warning="#ffd700",
    error="#ff8787",
    success="#87ff5f",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#1c1c1c",
    dark=True,
    variables={"muted": "#d0d0d0", "border": "#b0b0b0", "scrollbar": "#b0b0b0", "footer-key-foreground": "#ffd700"},
)

HIGH_CONTRAST_LIGHT: Final = Theme(
    name="high-contrast-light",
    primary="#00329c",
    secondary="#004d00",
    accent="#5c008a",
    warning="#663c00",
    error="#9c0010",
    success="#004d00",
    foreground="#000000",
    background="#ffffff",
    surface="#ffffff",
    panel="#e8e8e8",
    dark=False,
    variables={"muted": "#333333", "border": "#404040", "scrollbar": "#404040", "footer-key-foreground": "#00329c"},
)

OURS: Final = (DARK, LIGHT, HIGH_CONTRAST, HIGH_CONTRAST_LIGHT)
_SHORT: Final = {"dark": DARK.name, "light": LIGHT.name}


def theme_named(setting: str, *, terminal_is_dark: bool) -> str:
    """The theme that a setting means; `auto` is ours that fits the terminal."""
    automatic = DARK.name if terminal_is_dark else LIGHT.name
    return automatic if setting == "auto" else _SHORT.get(setting, setting)


def own_variables(theme: Theme) -> Mapping[str, str]:
    """What our style sheets need of any theme, and the light tracks that scroll bars have under all of them."""
    track = theme.background or "ansi_default"
    return {
        **_colours(theme),
        "scrollbar-background": track,
        "scrollbar-background-hover": track,
        "scrollbar-background-active": track,
        "scrollbar-corner-color": track,
    }


def _colours(theme: Theme) -> Mapping[str, str]:
    """Those of ours as they are; of a theme that is not ours, whatever is read becomes readable."""
    own = DARK if theme.dark else LIGHT
    if theme in OURS or theme.ansi:
        variables = theme.variables if theme in OURS else own.variables
        return {name: variables[name] for name in ("muted", "border", "scrollbar")}
    return _readable_colours(theme.name)


@lru_cache(4)
def _readable_colours(name: str) -> Mapping[str, str]:
    """Panels are as light as any other surface: some themes have them so light that little can be read there."""
    theme = BUILTIN_THEMES[name]
    given = {**theme.to_color_system().generate(), **theme.variables}
    own = (DARK if theme.dark else LIGHT).variables
    grounds = [Color.parse(given[ground]) for ground in ("background", "surface")]
    grounds.append(grounds[0].blend(Color.parse(given["primary"]), CHOSEN_SHARE))

    def shown(colour: str) -> str:
        return readable(Color.parse(colour), grounds).hex6

    key = given["footer-key-foreground"] if given["footer-key-foreground"].startswith("#") else given["primary"]
    given |= {"footer-key-foreground": key, "foreground": theme.foreground or given["foreground"]}
    border = grounds[0].blend(Color.parse(given["foreground"]), BORDER_SHARE)
    return {
        **{each: shown(given[each]) for each in (*TEXT_COLOURS, "foreground")},
        "muted": shown(theme.variables.get("muted", own["muted"])),
        "panel": given["surface"],
        "border": border.hex6,
        "scrollbar": readable(border, grounds[:1], MARK_CONTRAST).hex6,
    }


def palette_of(theme: Theme) -> Palette:
    """The transcript's colours under a theme, ours or any other."""
    own = DARK if theme.dark else LIGHT
    colours = _colours(theme)

    def colour(name: str) -> str:
        value = colours.get(name) or getattr(theme, name, None)
        return (value if value and value.startswith("#") else getattr(own, name, None) or own.variables[name])[:7]

    return Palette(
        text=colour("foreground"),
        muted=colour("muted"),
        accent=colour("primary"),
        reply=colour("secondary"),
        compaction=colour("accent"),
        warning=colour("warning"),
        error=colour("error"),
        background=colour("background"),
        surface=colour("surface"),
    )
