"""Driving the app with Pilot against a local provider."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from textual.pilot import Pilot

from co_tui.paths import locate
from co_tui.session.launch import Launch
from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from co_tui.settings import load
from co_tui.store.sqlite.store import SqliteStore
from co_tui.ui.app import CoTui
from co_tui.ui.approvals.question_bar import QuestionPanel
from co_tui.ui.prompt.prompt_area import Prompt
from co_tui.ui.widgets.field import Field
from tests.support.drawing import text_lines, was_looked_at
from tests.support.provider import Provider, Reply
from tests.support.waiting import PATIENCE_S

POLL_S = 0.02
"""Many conditions draw the whole screen: asked more often, they would take the app's time."""
MOST_POLL_S = 0.1
"""What takes long is asked for less and less often."""


def launch_for(home: Path, provider: Provider | None = None, **options: Any) -> Launch:
    """What `co-tui` would be started with in `home`."""
    environ = {"CO_TUI_HOME": str(home)}
    if provider is not None:
        environ |= {
            "OPENAI_BASE_URL": provider.url,
            "OPENAI_API_KEY": "sk-test",
            "CO_TUI_MODEL": "openai-chat:scripted",
        }
    environ |= options.pop("environ", {})
    paths = locate(environ)
    cwd = home.parent
    loaded = load(paths=paths, cwd=cwd, environ=environ)
    return Launch(
        paths=paths, store=SqliteStore(paths), loaded=loaded, environ=environ, workplace=LocalWorkplace(cwd), **options
    )


@asynccontextmanager
async def running(
    launch: Launch,
    size: tuple[int, int] = (120, 40),
    *,
    dark: bool = True,
    ready: bool = True,
    failing: bool = False,
) -> AsyncIterator[tuple[CoTui, Pilot[None]]]:
    """The app, with its engine loaded unless `ready` is False; left as a user leaves it. Unless `failing`, nothing may
    fail in the background."""
    app = CoTui(launch, dark=dark)
    async with app.run_test(size=size) as pilot:
        if ready:
            await until(
                pilot, lambda: app.controller.backend.ready and (not app.controller.opening or question_shown(app))
            )
        yield app, pilot
        if not was_looked_at(app):  # changes are not drawn until they are looked at
            screen_text(app)
        if app.controller.work.summary():
            await app._leaving.leave(0)  # as after the question whether to stop it
        else:
            await app.action_quit()
    assert failing or not app.failures, app.failures


Look = Callable[[CoTui, Pilot[None], Provider], Awaitable[None]]
"""What is looked at in an app without a session yet."""


async def look_in_one_app(home: Path, provider: Provider, *looks: Look) -> None:
    """Each in a new session of one app: starting one for each takes longer than most of them."""
    async with running(launch_for(home, provider)) as (app, pilot):
        for look in looks:
            await look(app, pilot, provider)
            await begin_again(app, pilot, provider)


async def begin_again(app: CoTui, pilot: Pilot[None], provider: Provider) -> None:
    """As after the start: nothing said, typed, asked or notified, and a provider without a script."""
    while app.screen is not app.chat:
        app.pop_screen()
        await pilot.pause()
    await app.controller.begin_session()
    await until(pilot, lambda: not (app.controller.session or app.controller.opening or question_shown(app)))
    app.chat.prompt.text = ""
    app.chat.prompt.focus()
    app.clear_notifications()
    provider.requests.clear()
    provider.script, provider.default = [], Reply()


def question_shown(app: CoTui) -> str:
    """What is asked above the prompt; empty when nothing is."""
    panels = app.chat.query(QuestionPanel)
    return f"{panels.first().border_title}\n{panels.first().render()}" if panels else ""


async def answer(app: CoTui, pilot: Pilot[None], key: str) -> None:
    """Answer the question above the prompt."""
    await until(pilot, lambda: question_shown(app))
    panel = app.chat.query(QuestionPanel).first()
    panel.focus()
    await pilot.press(key)
    await until(pilot, lambda: panel not in app.chat.query(QuestionPanel))


async def until(pilot: Pilot[None], condition: Callable[[], object], seconds: float = PATIENCE_S) -> None:
    """Wait for something to become true, and then until all that has come of it so far is on the screen."""
    latest, poll_s = time.monotonic() + seconds, POLL_S
    while not condition():
        assert time.monotonic() < latest, f"did not happen within {seconds} s: {condition}"
        await asyncio.sleep(poll_s)
        poll_s = min(MOST_POLL_S, poll_s * 1.25)
    await pilot.pause()


PRESSED = 4
"""So many keys at the end of a line are pressed one by one; the ones before them would only take time."""


async def type_text(pilot: Pilot[None], text: str) -> None:
    """Type as at a keyboard; a newline sends."""
    names = {
        " ": "space",
        "\n": "enter",
        "/": "slash",
        "?": "question_mark",
        ".": "full_stop",
        ",": "comma",
        "-": "minus",
    }
    focused = pilot.app.focused
    if isinstance(focused, Prompt) and "\n" not in text[:-PRESSED]:
        focused.insert(text[:-PRESSED])
        text = text[-PRESSED:]
    await pilot.press(*(names.get(character, character) for character in text))


async def ask(app: CoTui, pilot: Pilot[None], prompt: str) -> None:
    """Send a prompt and wait for the end of its turn."""
    turns = app.controller.state.turn
    app.chat.prompt.insert(prompt)  # typed key by key it would take a second
    await pilot.press("enter")
    await until(
        pilot,
        lambda: app.controller.state.turn > turns and app.controller.idle,
    )
    await pilot.pause()


def transcript_text(app: CoTui) -> str:
    return "\n".join(block.plain for block in app.chat.transcript.blocks)


def screen_text(app: CoTui) -> str:
    """What a person sees, line by line."""
    return "\n".join(text_lines(app))


async def click_on(app: CoTui, pilot: Pilot[None], words: str) -> None:
    """With the mouse, where these words are."""
    lines = screen_text(app).splitlines()
    row = next(n for n, line in enumerate(lines) if words in line)
    await pilot.click(offset=(cell_len(lines[row].partition(words)[0]) + 1, row))


async def write_answer(app: CoTui, pilot: Pilot[Any], text: str) -> None:
    """Write into the open field of a question, and send it."""
    await until(pilot, lambda: isinstance(app.screen.focused, Field))
    assert app.chat.query_one(QuestionPanel).has_focus_within
    await type_text(pilot, f"{text}\n")


async def to_question(app: CoTui, pilot: Pilot[Any]) -> None:
    """Wait for a question, and go to it."""
    await until(pilot, lambda: app.screen is app.chat and app.chat.query(QuestionPanel))
    if not isinstance(app.focused, QuestionPanel):
        await pilot.press("tab")
    await until(pilot, lambda: isinstance(app.focused, QuestionPanel))
