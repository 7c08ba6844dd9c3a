"""Our themes, and what the transcript takes from any theme."""

from typing import Final

from textual.theme import Theme

from co_tui.ui.widgets.look import Palette

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
    variables={"muted": "#828bab", "border": "#3b4261", "footer-key-foreground": "#7aa2f7"},
)

LIGHT: Final = Theme(
    name="co-tui-light",
    primary="#2456c4",
    secondary="#35701a",
    accent="#7a3fc0",
    warning="#865408",
    error="#bd2038",
    success="#35701a",
    foreground="#24283b",
    background="#f7f7f4",
    surface="#ececE8",
    panel="#dfe0e6",
    dark=False,
    variables={"muted": "#62677f", "border": "#b4b8c8", "footer-key-foreground": "#2456c4"},
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
    variables={"muted": "#d0d0d0", "border": "#b0b0b0", "footer-key-foreground": "#ffd700"},
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
    variables={"muted": "#333333", "border": "#404040", "footer-key-foreground": "#00329c"},
)

OURS: Final = (DARK, LIGHT, HIGH_CONTRAST, HIGH_CONTRAST_LIGHT)
_SHORT: Final = {"dark": DARK.name, "light": LIGHT.name}


def theme_named(setting: str, *, terminal_is_dark: bool) -> str:
    """The theme that a setting means; `auto` is ours that fits the terminal."""
    automatic = DARK.name if terminal_is_dark else LIGHT.name
    return automatic if setting == "auto" else _SHORT.get(setting, setting)


def own_variables(theme: Theme) -> dict[str, str]:
    """What our style sheets need of any theme, and the light tracks that scroll bars have under all of them."""
    base = DARK if theme.dark else LIGHT
    track = theme.background or "ansi_default"
    return {
        "muted": theme.variables.get("muted", base.variables["muted"]),
        "border": theme.variables.get("border", base.variables["border"]),
        "scrollbar": theme.variables.get("border", base.variables["border"]),
        "scrollbar-background": track,
        "scrollbar-background-hover": track,
        "scrollbar-background-active": track,
        "scrollbar-corner-color": track,
    }


def palette_of(theme: Theme) -> Palette:
    """The transcript's colours under a theme, ours or any other."""
    base = DARK if theme.dark else LIGHT

    def colour(value: str | None, fallback: str | None) -> str:
        usable = value if value and value.startswith("#") else fallback
        return (usable or "#808080")[:7]

    return Palette(
        text=colour(theme.foreground, base.foreground),
        muted=colour(theme.variables.get("muted"), base.variables["muted"]),
        accent=colour(theme.primary, base.primary),
        reply=colour(theme.secondary, base.secondary),
        warning=colour(theme.warning, base.warning),
        error=colour(theme.error, base.error),
        surface=colour(theme.surface, base.surface),
        code_theme="monokai" if theme.dark else "friendly",
    )
