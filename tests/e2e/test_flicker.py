"""Nothing that is shown before and after is missing in a frame between: first prompt, stream, compaction, resize."""

from collections.abc import Iterator

import pytest

from tests.support.command import CliCommand
from tests.support.long_run import LONG_RUN, only_in_a_long_run
from tests.support.provider import Provider, Reply
from tests.support.recorder import Cells, Frame, RecordedApp, flickers

pytestmark = pytest.mark.terminal

CONVERSATION = slice(0, -5)
"""Without the prompt and the keys below it, whose hints come and go with what can be done."""
SUMMARY = "Title: Tides\n## Decisions and outcomes\n- The moon pulls at the water, as notes/tides.md tells."
WORDS = "The moon pulls at the water, and the sun does so as well, as notes/tides.md tells in detail. " * 6


@pytest.fixture
def app(served: CliCommand, provider: Provider) -> Iterator[RecordedApp]:
    provider.window = 100_000
    provider.default = Reply(text=WORDS, prompt_tokens=-1, completion_tokens=120, delay_s=0.01)
    provider.summary = Reply(text=SUMMARY, prompt_tokens=500, completion_tokens=40, wait_s=0.3)
    served.environ["CO_TUI_TOOLS"] = "none"
    recorded = RecordedApp(served, 120, 60)
    yield recorded
    recorded.close()


@only_in_a_long_run
def test_nothing_vanishes_while_it_is_there_before_and_after(app: RecordedApp) -> None:
    app.until("Write a message")
    app.press("prompt-one about tides\r")  # the engine is still being loaded
    app.until("▌ prompt-one", "● turn 1", "Esc stop")  # only then it can be gone
    app.until("▌ prompt-one", gone="Esc stop")
    for turn in (2, 3) if LONG_RUN else ():
        app.press(f"prompt-{turn} about tides\r")
        app.until(f"● turn {turn}", "Esc stop")
        app.until(f"● turn {turn}", gone="Esc stop")
    welcomed = next(n for n, frame in enumerate(app.frames) if "● turn 1" in "\n".join(frame.rows))
    first_prompt = next(n for n, frame in enumerate(app.frames) if "▌ prompt-one" in "\n".join(frame.rows))
    assert all("▌ prompt-one" in "\n".join(frame.rows) for frame in app.frames[first_prompt:]), "from when it was sent"
    if not LONG_RUN:
        return  # on a loaded machine a frame may be read half written; the rest is for a quiet one
    assert flickers(app.frames[welcomed:], CONVERSATION) == {}
    start = len(app.frames)
    app.press("\x1b[15~")  # F5
    app.until("Frees about")
    app.press("\r")
    app.until("◆ Conversation Compacted", "messages above are summarised")
    app.record(0.5)
    assert flickers(app.frames[start:], CONVERSATION) == {}
    start = len(app.frames)
    for columns, rows in ((119, 60), (130, 58), (112, 62)):
        app.resize(columns, rows)
        app.record(0.7)
    assert len(app.frames) >= start + 3
    assert flickers(app.frames[start:], CONVERSATION) == {}


def test_the_recorder_sees_what_is_missing_in_one_frame() -> None:
    cells, frames = Cells(20, 3), []
    for text in ("\x1b[1;1Hshown words", "\x1b[1;7H     ", "\x1b[1;7Hwords 漢字 more", "\x1b[2J\x1b[2;3Hother"):
        cells.write(text)
        frames.append(Frame(0.0, cells.rows))
    assert frames[2].rows[0] == "shown words 漢字 mor", "as far as there is room"
    assert flickers(frames, slice(0, None)) == {"words": [1]}
