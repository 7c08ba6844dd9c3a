"""The text that replaces summarised messages, as it is sent: not as Markdown, which would change quoted lines."""

import io
import re
from typing import Final

from rich.console import Console
from rich.style import Style
from rich.text import Text
from textual.geometry import Size
from textual.widget import Widget

from co_tui.events.stored_messages import NOT_A_HEADING
from co_tui.inert import inert
from co_tui.ui.text.text_rendering import TextRenderer

LEAST_COLUMNS: Final = 20
"""For the text of an indented line; in less room it is not indented further."""
_CONSOLE: Final = Console(file=io.StringIO(), color_system=None)
_HEADING: Final = re.compile(r"[#\[]")
_ITEM: Final = re.compile(r"- ")
_STEP: Final = re.compile(r"- (?:\$ |[\w.:-]+\()")
_SAID: Final = re.compile(r"(?:user|assistant|note): ?")
_STATE: Final = re.compile(
    r"(?:Files changed|New files|Done|Failed when last run|Concluded(?: \d+ steps ago)?"
    r"|Last command that ended with exit code 0|Files read|Still failing|Last command that went well): "
)
"""The last two are of older versions."""
_ASIDE: Final = re.compile(r" *…$|\(\d+ more ")
_LABEL: Final = re.compile(r" +(?:also|names): ")
_OUTCOME: Final = re.compile(r" → (?:failed|timed out|printed an error|interrupted)[^→]*$")


def summary_text(summary: str, renderer: TextRenderer) -> Text:
    """The summary exactly as it is sent. Headings and the heads of entries stand out; what was left out is muted."""
    text = Text()
    for line in inert(summary).splitlines(keepends=True):
        text.append_text(_styled(line, renderer))
    return text


def _styled(line: str, renderer: TextRenderer) -> Text:
    text, words = Text(line), line.rstrip("\n")
    if _ASIDE.match(words):
        text.stylize(renderer.muted)
    elif words.lstrip(" ").startswith(NOT_A_HEADING):
        start = words.index(NOT_A_HEADING)
        text.stylize(renderer.muted, start, start + len(NOT_A_HEADING))
    elif label := _LABEL.match(words):
        text.stylize(renderer.muted, 0, label.end())
    elif _HEADING.match(words):
        text.stylize("bold")
    elif found := _SAID.match(words) or _STATE.match(words):
        text.stylize(_said_style(words, renderer), 0, found.end())
    elif _STEP.match(words):
        text.stylize("bold")
    if (outcome := _OUTCOME.search(words)) and not words.startswith(" "):
        text.stylize(renderer.error, outcome.start(), len(words))
    return text


def _said_style(line: str, renderer: TextRenderer) -> Style:
    if line.startswith("user"):
        return renderer.you
    return renderer.me if line.startswith("assistant") else Style(bold=True)


class HangingText(Widget):
    """A text whose wrapped lines are indented like the beginning of their line."""

    DEFAULT_CSS = "HangingText { height: auto; }"

    def __init__(self, text: Text, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._text = text
        self._wrapped: tuple[int, Text] | None = None

    def update(self, text: Text) -> None:
        self._text, self._wrapped = text, None
        self.refresh(layout=True)

    def render(self) -> Text:
        return self._at(self.size.width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._at(width).plain.count("\n") + 1

    def _at(self, width: int) -> Text:
        if self._wrapped is None or self._wrapped[0] != width:
            self._wrapped = (width, hanging(self._text, width))
        return self._wrapped[1]


def hanging(text: Text, width: int) -> Text:
    """The text wrapped at a width; what is wrapped is indented like the beginning of its line."""
    lines: list[Text] = []
    for line in text.split("\n"):
        if "\t" in line.plain:
            line.expand_tabs(4)
        lines += [line] if line.cell_len <= width else _wrapped(line, width)
    return Text("\n").join(lines)


def _wrapped(line: Text, width: int) -> list[Text]:
    indent = len(line.plain) - len(line.plain.lstrip(" "))
    if any(pattern.match(line.plain) for pattern in (_ITEM, _SAID, _STATE)):
        indent = len("- ")
    if width - indent < LEAST_COLUMNS:
        return list(line.wrap(_CONSOLE, width))
    beginning, rest = line.divide([indent])
    first, *others = rest.wrap(_CONSOLE, width - indent)
    return [beginning + first, *(Text(" " * indent) + other for other in others)]
