"""A day's session: scripted turns with calls and compactions, by the engine alone and through the app in a terminal;
memory, and processor time a turn.

2,000 turns take some minutes each. Both should be flat: at most 1.15 times what they were at turn 100.
"""

import asyncio
import json
import random
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall

from co_tui.session.memory_relief import give_back, resident_mb
from co_tui.session.session import Session
from tests.benchmarks.app_in_terminal import AppInTerminal
from tests.benchmarks.ledger import WORDS
from tests.support.environments import ScriptedModel, environment_for
from tests.support.provider import Provider, Reply

TURNS = 2_000
MARKS = (20, 100, 500, 1_000, 2_000)
COMPARED = 100
"""The turn that later ones are compared with."""
MEASURED = 20
"""Turns up to each mark whose processor time is counted."""
WINDOW_TOKENS = 60_000
FILES, LINES = 200, 60
"""What the calls read, a file each: about 3 kB."""
PROMPT = "Question {n}: what does function_{n} in src/module_{n}.py do when its argument is empty?"
REPLY = (
    "## Part {n}\n\nThe function in `src/module_{n}.py` returns early, as **the tests** say. "
    + "It reads the file, then it writes what changed. " * 8
    + "\n\n- one\n- two\n\n```python\ndef f(x):\n    return x + {n}\n```\n\nDone-{n}-."
)


class Figures:
    """Prints memory and processor time at the marks, and how they compare."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._marks = [mark for mark in MARKS if mark <= TURNS] or [TURNS]
        self._began_s = 0.0
        self._compared: tuple[float, float] | None = None

    def before(self, turn: int, processor_s: float) -> None:
        if turn == 1 or turn + MEASURED - 1 in self._marks:
            self._began_s = processor_s

    def is_mark(self, turn: int) -> bool:
        return turn in self._marks

    def after(self, turn: int, held_mb: float, processor_s: float) -> None:
        turn_ms = (processor_s - self._began_s) * 1000 / min(turn, MEASURED)
        figures = f"{held_mb:.0f} MB, {turn_ms:.0f} ms of processor time a turn"
        if turn == COMPARED:
            self._compared = held_mb, turn_ms
        elif self._compared is not None:
            megabytes, milliseconds = self._compared
            figures += f": {held_mb / megabytes:.2f} and {turn_ms / milliseconds:.2f} times turn {COMPARED}"
        print(f"  {self._what}, turn {turn:<6,}  {figures}", flush=True)


def text_of_file(number: int) -> str:
    """Some names are new, most come again."""
    draw = random.Random(number)
    names = (f"{draw.choice(WORDS)}_{draw.choice(WORDS)}_{draw.randrange(number + 20)}" for _ in range(LINES))
    return "\n".join(
        f"    {name} = {draw.choice(WORDS)}.{draw.choice(WORDS)}({draw.randrange(9_999)})" for name in names
    )


async def engine(home: Path) -> None:
    """The session without a screen; memory after what is free was given back to the system."""
    turn = 0

    def read_file(path: str) -> str:
        return text_of_file(turn)

    async def script(messages: list[ModelMessage], info: Any) -> AsyncIterator[Any]:
        if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
            yield REPLY.format(n=turn)
        else:
            path = f"src/module_{turn}.py"
            yield {0: DeltaToolCall("read_file", json.dumps({"path": path}), tool_call_id=f"call-{turn}")}

    environment = environment_for(home, ScriptedModel(script, window=WINDOW_TOKENS), tools=[read_file])
    session, figures = await Session.start(environment, "scripted"), Figures("the engine")
    for turn in range(1, TURNS + 1):
        figures.before(turn, time.process_time())
        await session.submit(PROMPT.format(n=turn))
        if figures.is_mark(turn):
            used_s = time.process_time()
            give_back()
            figures.after(turn, resident_mb(), used_s)
    print(f"  {len(session.state.compactions)} compactions")
    await session.close()
    environment.store.close()


def app(folder: Path) -> None:
    """The whole app, which decides itself what it gives back."""
    (folder / "src").mkdir()
    for number in range(FILES):
        (folder / f"src/module_{number}.py").write_text(text_of_file(number))
    provider, figures = Provider(), Figures("the app")
    provider.window = WINDOW_TOKENS
    with provider.serving(), AppInTerminal(provider.url, folder) as app:
        for turn in range(1, TURNS + 1):
            figures.before(turn, app.processor_s)
            call = ("read_file", json.dumps({"path": f"src/module_{turn % FILES}.py"}))
            reply = Reply(text=REPLY.format(n=turn), prompt_tokens=-1)
            provider.script = [Reply(text="I read it.", tool=call, prompt_tokens=-1), reply]
            app.ask(PROMPT.format(n=turn), f"Done-{turn}-")
            provider.requests.clear()
            if figures.is_mark(turn):
                figures.after(turn, app.resident_mb, app.processor_s)


def main() -> None:
    for part in (lambda folder: asyncio.run(engine(folder)), app):
        with tempfile.TemporaryDirectory() as folder:
            part(Path(folder))
