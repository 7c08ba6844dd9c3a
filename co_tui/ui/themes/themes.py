"""Our themes, readable colours from any theme, and the filter for `NO_COLOR`."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.dom import DOMNode
from textual.filter import LineFilter, Monochrome
from textual.theme import BUILTIN_THEMES, Theme

REDUCED_MOTION: Final = "-still"
"""The app's CSS class while motion is reduced."""


class Palette(NamedTuple):
    """The theme colours that texts are rendered in."""

    text: str
    muted: str
    accent: str
    reply: str
    compaction: str
    warning: str
    error: str
    background: str
    surface: str


TEXT_CONTRAST: Final = 4.5
WITH_MARGIN: Final = TEXT_CONTRAST + 0.15
"""Tints of a colour that was made readable differ a little from those it was measured on."""
TINT_ROUNDS: Final = 3
MARK_CONTRAST: Final = 3.0
"""For things that are not text, such as a scroll bar."""
_STEP: Final = 0.04
_BLACK, _WHITE = Color(0, 0, 0), Color(255, 255, 255)


def contrast(one: Color, other: Color) -> float:
    """WCAG contrast ratio, from 1 (same colour) to 21 (black on white)."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def readable(colour: Color, backgrounds: Sequence[Color], minimum: float = TEXT_CONTRAST) -> Color:
    """The colour, lightened or darkened until it is readable on these backgrounds."""
    dark = sum(_luminance(background_name) for background_name in backgrounds) / len(backgrounds) < 0.18
    towards, shown, share = _WHITE if dark else _BLACK, colour, 0.0
    while share < 1 and min(contrast(shown, background_name) for background_name in backgrounds) < minimum:
        share += _STEP
        shown = colour.blend(towards, share)
    return shown


TEXT_COLOURS: Final = ("primary", "secondary", "accent", "warning", "error", "success", "footer-key-foreground")
CHOSEN_SHARE: Final = 0.15
"""Share of the primary colour in the background of a chosen entry."""
BORDER_SHARE: Final = 0.22
"""Share of the text colour in the borders of other themes."""

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
    variables={"muted": "#99a2c0", "border": "#3b4261", "scrollbar": "#5a6488", "footer-key-foreground": "#7aa2f7"},
)

LIGHT: Final = Theme(
    name="co-tui-light",
    primary="#2456c4",
    secondary="#2e6415",
    accent="#7236b6",
    warning="#825107",
    error="#b21c33",
    success="#2e6415",
    foreground="#24283b",
    background="#f7f7f4",
    surface="#efefeb",
    panel="#dfe0e6",
    dark=False,
    variables={"muted": "#50556c", "border": "#b4b8c8", "scrollbar": "#868ca3", "footer-key-foreground": "#2456c4"},
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
    """The theme for a setting; `auto` picks ours by the terminal's background."""
    automatic = DARK.name if terminal_is_dark else LIGHT.name
    return automatic if setting == "auto" else _SHORT.get(setting, setting)


def own_variables(theme: Theme) -> Mapping[str, str]:
    """The CSS variables our style sheets need, and unobtrusive scroll bar tracks."""
    track = theme.background or "ansi_default"
    return {
        **_colours(theme),
        "scrollbar-background": track,
        "scrollbar-background-hover": track,
        "scrollbar-background-active": track,
        "scrollbar-corner-color": track,
    }


def _colours(theme: Theme) -> Mapping[str, str]:
    """Our themes' colours unchanged; other themes' text colours adjusted to be readable."""
    own = DARK if theme.dark else LIGHT
    if theme in OURS or theme.ansi:
        variables = theme.variables if theme in OURS else own.variables
        return {name: variables[name] for name in ("muted", "border", "scrollbar")}
    return _readable_colours(theme.name)


@lru_cache(4)
def _readable_colours(name: str) -> Mapping[str, str]:
    """Panels use the surface colour: in some themes text on panels is hard to read."""
    theme = BUILTIN_THEMES[name]
    given = {**theme.to_color_system().generate(), **theme.variables}
    own = (DARK if theme.dark else LIGHT).variables
    backgrounds = [Color.parse(given[background_name]) for background_name in ("background", "surface")]
    primary, grounds = Color.parse(given["primary"]), backgrounds
    for _ in range(TINT_ROUNDS):  # the tint of chosen entries is one of the grounds that its colour must be readable on
        primary = readable(primary, backgrounds, WITH_MARGIN)
        backgrounds = [*grounds, *(ground.blend(primary, CHOSEN_SHARE) for ground in grounds)]

    def shown(colour: str) -> str:
        return readable(Color.parse(colour), backgrounds, WITH_MARGIN).hex6

    key = given["footer-key-foreground"] if given["footer-key-foreground"].startswith("#") else given["primary"]
    given |= {"footer-key-foreground": key, "foreground": theme.foreground or given["foreground"]}
    border = backgrounds[0].blend(Color.parse(given["foreground"]), BORDER_SHARE)
    return {
        **{each: shown(given[each]) for each in (*TEXT_COLOURS, "foreground")},
        "muted": shown(theme.variables.get("muted", own["muted"])),
        "panel": given["surface"],
        "border": border.hex6,
        "scrollbar": readable(border, backgrounds[:1], MARK_CONTRAST).hex6,
    }


def palette_of(theme: Theme) -> Palette:
    """The text colours of any theme."""
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


MEANINGFUL_CONTRAST: Final = 1.5
"""A background with more contrast than this has a meaning: a cursor, a selection, the chosen row."""


class Colourless(LineFilter):
    """Removes all colours; a meaningful background becomes reverse video."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(text, style and _without_colour(style, background), control) for text, style, control in segments
        ]


@lru_cache(4096)
def _without_colour(style: Style, background: Color) -> Style:
    own = Color.from_rich_color(style.bgcolor) if style.bgcolor is not None else background
    stands_out = _contrast(own, background) > MEANINGFUL_CONTRAST
    plain = style.without_color
    return plain + Style(reverse=stands_out != bool(style.reverse)) if stands_out or style.reverse else plain


def _contrast(one: Color, other: Color) -> float:
    low, high = sorted((one.brightness, other.brightness))
    return (high + 0.05) / (low + 0.05)


DIM_SHARE: Final = 0.45
"""How far dim text fades into its background, as far as it stays readable."""


class ReadableDim(LineFilter):
    """Draws dim text in a weaker colour that is still readable: terminals dim as they like."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(text, _readably_dim(style, background) if style is not None and style.dim else style, control)
            for text, style, control in segments
        ]


@lru_cache(4096)
def _readably_dim(style: Style, background: Color) -> Style:
    if style.color is None or style.color.is_default or (style.bgcolor is not None and style.bgcolor.is_default):
        return style  # colours of the terminal, which are not known
    own = Color.from_rich_color(style.bgcolor) if style.bgcolor is not None else background
    weaker = readable(Color.from_rich_color(style.color).blend(own, DIM_SHARE), [own])
    return style + Style(color=weaker.rich_color, dim=False)


_COLOURLESS: Final = Colourless()
_READABLE_DIM: Final = ReadableDim()


def without_colours(filters: Sequence[LineFilter]) -> Sequence[LineFilter]:
    """The app's line filters under `NO_COLOR`: Textual's own would keep shades of grey."""
    return [*(each for each in filters if not isinstance(each, Monochrome)), _COLOURLESS]


def with_readable_dim(filters: Sequence[LineFilter]) -> Sequence[LineFilter]:
    """The app's line filters with ours before Textual's own, which dims text whatever its background."""
    return [_READABLE_DIM, *filters]


def has_reduced_motion(node: DOMNode) -> bool:
    """Whether the setting `reduced_motion` is on: no spinners, no moving markers, no blinking cursor."""
    return node.app.has_class(REDUCED_MOTION)


def set_reduced_motion(app: App[Any], still: bool) -> None:
    if app.has_class(REDUCED_MOTION) == still:
        return
    app.set_class(still, REDUCED_MOTION, update=False)
    if app.is_running:
        for screen in app.screen_stack:
            for node in screen.query("Input, TextArea"):
                _set_blinking(node, not still)


def hold_cursor(node: DOMNode) -> None:
    """Stop a newly focused widget's cursor from blinking if motion is reduced."""
    if has_reduced_motion(node):
        _set_blinking(node, False)


def _set_blinking(node: DOMNode, blinks: bool) -> None:
    if hasattr(node, "cursor_blink"):
        node.cursor_blink = blinks
