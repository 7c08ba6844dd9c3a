"""The modes in words: their names on the prompt's border, and a line about each."""

from collections.abc import Mapping
from typing import Final

from textual.content import Content

from co_tui.events.wording import mode_name as mode_name
from co_tui.settings.rules import ASK, AUTO, EDITS, MODES, PLAN

SENTENCES: Final[Mapping[str, str]] = {
    ASK: "changes and commands are asked about",
    EDITS: "files here change without asking; commands ask",
    PLAN: "nothing is changed; the model makes a plan",
    AUTO: "files change, commands run in the sandbox",
}
"""Short enough for one line of the smallest screen."""
_COLOURS: Final[Mapping[str, str]] = {ASK: "$muted", EDITS: "$secondary", PLAN: "$accent", AUTO: "$warning"}


def mode_label(mode: str) -> Content:
    """The name in the mode's colour."""
    return Content.styled(mode_name(mode), f"bold {_COLOURS[mode]}" if mode in _COLOURS else "")


def mode_line(mode: str) -> str:
    """What is said when a mode begins."""
    return f"{mode}: {SENTENCES.get(mode, '')}"


def mode_list(present: str) -> str:
    """All modes, with the one in force."""
    longest = max(len(mode_name(mode)) for mode in MODES)
    return "\n".join(
        f"{'●' if mode == present else '○'} {mode_name(mode):<{longest}}  {SENTENCES[mode]}" for mode in MODES
    )
