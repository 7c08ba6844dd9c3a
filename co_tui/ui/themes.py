"""Our two themes, and what the transcript takes from any theme."""

from textual.theme import Theme

from co_tui.ui.widgets.look import Palette

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
