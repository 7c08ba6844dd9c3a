"""Our two themes, and what the transcript takes from any theme."""

from textual.theme import Theme

from co_tui.ui.widgets.rendering import Palette

DARK = Theme(
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

LIGHT = Theme(
    name="co-tui-light",
    primary="#2456c4",
    secondary="#3d7a1f",
    accent="#7a3fc0",
    warning="#96600c",
    error="#c4263c",
    success="#3d7a1f",
    foreground="#24283b",
    background="#f7f7f4",
    surface="#ececE8",
    panel="#dfe0e6",
    dark=False,
    variables={"muted": "#62677f", "border": "#b4b8c8", "footer-key-foreground": "#2456c4"},
)


def palette_of(theme: Theme) -> Palette:
    """The transcript's colours under a theme."""
    variables = theme.to_color_system().generate()

    def colour(name: str, fallback: str) -> str:
        value = variables.get(name, fallback)
        return value[:7] if value.startswith("#") else fallback

    default = "#c8d0e8" if theme.dark else "#24283b"
    return Palette(
        text=colour("foreground", default),
        muted=colour("muted", "#828bab" if theme.dark else "#62677f"),
        accent=colour("primary", default),
        reply=colour("secondary", default),
        warning=colour("warning", default),
        error=colour("error", default),
        surface=colour("surface", "#1c1f29" if theme.dark else "#ececE8"),
        code_theme="monokai" if theme.dark else "friendly",
    )
