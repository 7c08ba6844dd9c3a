"""The question about a folder that wants more than it may: shown once, beside the conversation, never in its way."""

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from co_tui.inert import inert, one_line
from co_tui.paths import path_text
from co_tui.settings import SettingsError, read_text, shown
from co_tui.trust import Trust, Wish
from co_tui.ui.screens.dialog import Dialog
from co_tui.ui.widgets.question import QuestionPanel

if TYPE_CHECKING:
    from co_tui.ui.app import CoTui

MOST_PHRASES = 4
VALUE_CHARS = 40
"""The question has to fit a small screen; the file can be viewed."""
_PHRASES = {
    "model": "choose the model ({})",
    "summarization_model": "choose who summarises ({})",
    "base_url": "send the conversation to {}",
    "telemetry": "report to {}",
    "hooks": "run commands ({})",
}


def wish_text(wish: Wish) -> str:
    """What the folder wants, in words."""
    named = sorted(wish.wanted.items(), key=lambda wanted: wanted[0] not in _PHRASES)
    phrases = [
        _PHRASES.get(key, f"set {key} = {{}}").format(one_line(shown(value), VALUE_CHARS))
        for key, value in named[:MOST_PHRASES]
    ]
    if more := len(named) - len(phrases):
        phrases.append(f"set {more} more")
    listed = " and ".join(filter(None, (", ".join(phrases[:-1]), phrases[-1])))
    return f"It wants to {listed}. Until you trust this folder, none of it counts."


def ask_for_trust(app: "CoTui") -> None:
    """Ask at the first start in a folder that wants more than it may; each wish once."""
    wish = app.launch.loaded.withheld
    if wish is None or Trust(app.launch.paths.trust_file).was_asked(wish):
        return

    def answered(key: str) -> None:
        if key == "v":
            app.push_screen(FileScreen(wish))
            return
        app.chat.end_question(panel)
        app.run_worker(take_answer(app, wish, key == "t"), group="trust", exit_on_error=False)

    title = f"{one_line(wish.folder, 60)} has its own settings"
    answers = {"t": "trust this folder", "v": "view the file", "esc": "not now"}
    panel = QuestionPanel(title, wish_text(wish), answers, answered)
    app.chat.show_question(panel)


async def take_answer(app: "CoTui", wish: Wish, trusted: bool) -> None:
    """Remember it; what was trusted holds for the sessions that begin from now on."""
    launch = app.launch
    try:
        Trust(launch.paths.trust_file).remember(wish, trusted=trusted)
    except OSError as error:
        app.chat.feed.note(f"The answer cannot be remembered: {error.strerror or error}.", "error")
        return
    if not trusted:
        app.chat.feed.note("Not trusted; `co-tui trust` does it later.")
        return
    loaded = launch.reloaded()
    app.controller.launch = await app.controller.backend.renew(loaded)
    app.chat.show_state(app.controller.state)
    for problem in loaded.problems:
        app.chat.feed.note(problem, "error")
    app.chat.feed.note(
        "Trusted. It holds for sessions that begin from now on; theme and telemetry from the next start."
    )


class FileScreen(Dialog[None]):
    """The file, as it is."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", "Back")]

    def __init__(self, wish: Wish) -> None:
        super().__init__(tall=True)
        self._file = wish.file

    def compose(self) -> ComposeResult:
        try:
            text = inert(read_text(self._file))
        except SettingsError as error:
            text = str(error)
        with Vertical() as box:
            box.border_title = Text(one_line(path_text(self._file), 70))
            with VerticalScroll():
                yield Static(text, markup=False)
            yield Static("up, down scroll   esc back", classes="keys", markup=False)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_close(self) -> None:
        self.answer(None)
