"""Keys and clicks that come in one burst, faster than screens open and close: nothing fails, nothing is lost."""

import asyncio
from pathlib import Path

from textual.widgets import OptionList

from co_tui.ui.screens.help import HelpScreen
from co_tui.ui.screens.models import ModelScreen
from co_tui.ui.screens.palette import PaletteScreen
from tests.support.provider import Provider, Reply
from tests.support.screen import ask, launch_for, running, screen_text, until


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
