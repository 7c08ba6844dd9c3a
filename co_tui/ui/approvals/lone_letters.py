"""A letter answers a question only where it is pressed alone: typed text never answers."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from textual.app import App
from textual.events import Key, Paste

from co_tui.ui.keys.keys_on_hold import is_typed
from co_tui.ui.textual_internals import focused_here_or_elsewhere

if TYPE_CHECKING:
    from co_tui.ui.approvals.choices import ChoiceBox

ALONE_S: Final = 0.4
"""How long a letter is held. Fast and slow typists leave 50 to 240 ms between two letters."""


class LoneLetters:
    """Holds the letter of an answer until it is clear that no text follows. `Enter` after it answers at once; another
    printable key or a paste makes it text."""

    def __init__(self, app: App[Any], type_text: Callable[[Sequence[Key]], None]) -> None:
        """`type_text` gets held letters that turned out to be text; what follows them is the caller's."""
        self._app, self._type_text = app, type_text
        self._held: list[Key] = []
        """Several only while all of them check a box."""
        self._box: ChoiceBox | None = None
        """The one that they are for."""

    @property
    def is_holding(self) -> bool:
        return bool(self._held)

    def take(self, box: "ChoiceBox", event: Key | Paste) -> bool:
        """Whether the event is done with. All keys of a box with the focus come here, in order."""
        key = event.key if isinstance(event, Key) else ""
        held = self._held if self._box is box else []
        self._box, self._held = box, []
        if held and key == "enter":
            box.confirm([each.key for each in held])
            return True
        if held and is_typed(event):
            if event.time - held[-1].time >= ALONE_S:
                self._press(box, held)
            elif {key, *(each.key for each in held)} - box.choices.several:
                self._type_text(held)
                return False
            else:
                self._held = held
        if not isinstance(event, Key) or key not in box.letters:
            return False
        self._held = [*self._held, event]
        # Run by the app's queue: behind the keys that were read before.
        answers = partial(self._app.call_later, self._is_alone, box, self._held)
        asyncio.get_running_loop().call_later(ALONE_S, answers)
        return True

    def _is_alone(self, box: "ChoiceBox", held: list[Key]) -> None:
        if self._held is held:
            self._held = []
            if box.is_attached and focused_here_or_elsewhere(box.screen) is box:
                self._press(box, held)

    def _press(self, box: "ChoiceBox", held: Sequence[Key]) -> None:
        for each in held:
            box.press(each.key)
