"""Every frame after a resize is right: the columns fit, and the chat is at its end or where it was read."""

from pathlib import Path

from co_tui.ui.app import CoTui
from co_tui.ui.transcript.block import Block
from tests.support.long_run import also_in_a_long_run
from tests.support.provider import Provider
from tests.support.screen import launch_for, running, screen_text, until

WORDS = "words that are wrapped when the terminal is narrow, as it will be soon, and more than once."
PARAGRAPHS = "\n\n".join(f"Paragraph {n} has {WORDS}" for n in range(40))
SIZES = also_in_a_long_run([(100, 40), (200, 60), (60, 20)], [(120, 40), (140, 30), (140, 50)])
"""Narrower, wider, lower and taller, with and without the side column."""


def chat_of(screen: str) -> tuple[str, ...]:
    """The rows from the title of the chat to its end, without its scroll bar and what is next to it."""
    rows = screen.splitlines()
    top = next(n for n, row in enumerate(rows) if row.startswith("╭─ Chat"))
    end = next(n for n, row in enumerate(rows) if n > top and row.startswith("╰"))
    width = rows[top].index("╮")
    return tuple(row[: width - 1] for row in rows[top : end + 1])


class Frames:
    """What the chat shows in each frame that is drawn at a size."""

    def __init__(self, app: CoTui, size: tuple[int, int]) -> None:
        self.chats: set[tuple[str, ...]] = set()
        self._app, self._size = app, size
        app.post_display_hook = self._drawn  # type: ignore[method-assign]

    def _drawn(self) -> None:
        if self._app.screen is self._app.chat and self._app.chat.outer_size == self._size:
            self.chats.add(chat_of(screen_text(self._app)))


async def test_each_frame_at_a_new_size_shows_the_end_of_the_chat(home: Path, provider: Provider) -> None:
    async with running(launch_for(home, provider), size=(140, 40)) as (app, pilot):
        app.chat.transcript.show([Block("reply", f"{PARAGRAPHS}\n\nThe very end.") for _ in range(3)])
        await pilot.pause()
        for size in SIZES:
            frames = Frames(app, size)
            await pilot.resize_terminal(*size)
            await until(pilot, lambda frames=frames: frames.chats)
            assert len(frames.chats) == 1, f"one look of the chat at {size}"
            (chat,) = frames.chats
            assert "The very end." in chat[-2] and all(row.startswith("│") for row in chat[1:-1])


async def test_each_frame_at_a_new_size_shows_what_is_read(home: Path, provider: Provider) -> None:
    items = "\n".join(f"- item {n}" for n in range(100))
    async with running(launch_for(home, provider), size=(140, 40)) as (app, pilot):
        app.chat.transcript.show([Block("reply", f"{items}\n\n{PARAGRAPHS}") for _ in range(9)])
        app.chat.transcript.show_block(4, 50)
        await pilot.pause()
        first = chat_of(screen_text(app))[1].strip("│ ")
        assert "item" in first
        for size in SIZES:
            frames = Frames(app, size)
            await pilot.resize_terminal(*size)
            await until(pilot, lambda frames=frames: frames.chats)
            assert len(frames.chats) == 1, f"one look of the chat at {size}"
            assert frames.chats.pop()[1].strip("│ ") == first
