"""Keys and clicks that come in one burst, faster than screens open and close: nothing fails, nothing is lost."""

import asyncio
from pathlib import Path

import pytest
from rich.style import Style
from textual import events
from textual._animator import Animation
from textual.widgets import Input, OptionList

from co_tui.ui.help.help_screen import HelpScreen
from co_tui.ui.help.palette import PaletteScreen
from co_tui.ui.models.models_screen import ModelScreen
from co_tui.ui.widgets.safe_list import SafeList
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, screen_text, until


def test_paging_in_a_list_without_any_room_ends_nothing() -> None:
    SafeList("one", "two").action_page_down()


class Failing(Animation):
    def __init__(self, error: Exception) -> None:
        self._error = error

    def __call__(self, *_: object) -> bool:
        raise self._error

    async def invoke_callback(self) -> None: ...
    async def stop(self, complete: bool = True) -> None: ...
    def __eq__(self, other: object) -> bool:
        return self is other


async def test_screens_close_once_and_only_themselves(home: Path, provider: Provider) -> None:
    provider.default = Reply(text="An answer.")
    async with running(launch_for(home, provider)) as (app, pilot):
        # Two clicks beside the palette, the second of them on its way while it closes.
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, PaletteScreen))
        palette = app.screen
        palette.dismiss()
        palette.dismiss()
        app.action_command_palette()  # again, before the one that closes is gone
        await until(pilot, lambda: isinstance(app.screen, PaletteScreen) and app.screen is not palette)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)

        # A screen that is withdrawn below another goes with that one, not instead of it.
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(app.screen, ModelScreen))
        models = app.screen
        app.action_help()
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        models.withdraw()
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        models._fill()  # a server answers that was asked while it was open

        # F1 and Escape at once: it is closed before it was whole.
        for turns_of_the_loop in (0, 6, 8, 10):
            shown = HelpScreen()
            app.push_screen(shown)
            for _ in range(turns_of_the_loop):
                await asyncio.sleep(0)
            shown.action_close()
            await until(pilot, lambda: app.screen is app.chat)

        # Keys for the palette, and for the one after it, before either is whole.
        for key in ("ctrl+p", "down", "pagedown", "escape") * 3 + ("ctrl+p", "l", "e", "n", "s"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: isinstance(app.focused, Input) and app.focused.value == "lens")

        # A line of its list is clicked that is gone by now.
        commands = app.screen.query_one(OptionList)
        click = events.Click(commands, 1, 1, 0, 0, 1, False, False, False, style=Style(meta={"option": 99}))
        commands.post_message(click)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)

        # What is to be done after the next drawing finds the screen closed.
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, PaletteScreen) and app.screen.is_mounted)
        palette = app.screen
        palette.dismiss()
        await palette.query("*").remove()
        palette._callbacks.append((palette._fill, palette))
        await palette._invoke_and_clear_callbacks()
        await until(pilot, lambda: app.screen is app.chat)

        # A terminal without room for anything.
        for size in ((1, 1), (3, 40), (100, 2), (0, 0), (120, 40)):
            await pilot.resize_terminal(*size)
        assert app.size == (120, 40)

        # An animation that another one ended is missed in silence; what else fails in one is not.
        app._animator._animations[(1, "ended")] = Failing(KeyError((1, "ended")))
        app._animator()
        app._animator._animations[(1, "ended")] = Failing(KeyError("a mistake"))
        with pytest.raises(KeyError):
            app._animator()
        app._animator._animations.clear()

        # An entry of the timeline is clicked, and filtered away at once.
        await ask(app, pilot, "one")
        await pilot.press("ctrl+l")
        timeline = app.chat.query_one("Timeline", OptionList)
        chosen = OptionList.OptionSelected(timeline, timeline.options[-1], 99)
        timeline.post_message(chosen)
        await pilot.pause()

        # Undo takes away the line that the cursor stands on, with the scroll bar that came with it.
        app.chat.prompt.focus()
        app.chat.prompt.insert("\n".join("line" for _ in range(60)))
        await pilot.pause()
        app.chat.prompt.undo()
        await pilot.pause()
        assert app.chat.prompt.text == "" and app._exception is None and "An answer." in screen_text(app)
