"""The app: launch, opening long sessions, keys while text streams, tokens on the screen."""

import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

from co_tui.events import Event, StreamDelta
from co_tui.ui.app import CoTui
from tests.benchmarks.app_in_terminal import AppInTerminal
from tests.benchmarks.figures import median, percentile, print_table
from tests.benchmarks.latency import MIXED, SIZES, frame, keys, stored
from tests.benchmarks.terminal import BARE_APP, Launched, launch_to_echo, run_to_end
from tests.support.provider import Provider, Reply
from tests.support.screen import launch_for

LAUNCHES = 9
CODE = "```python\n" + "def answer(question: str) -> str:  # a comment\n    return question.upper()\n" * 2000
TOKEN_CHARS = 4
STREAMED_CHARS = 200_000
"""At most, of each reply."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        homes = {size: stored(Path(folder) / f"home{size}", size) for size in SIZES}
        print_table(_launching(Path(folder), homes))
        print()
        print_table(_commands(homes[10]))
        print()
        for size, home in homes.items():
            print_table(asyncio.run(_using(home, size)))
            print()
        print_table(asyncio.run(_streaming(homes[10])))
        print()
        print_table(_memory(Path(folder) / "memory"))


def _launching(folder: Path, homes: dict[int, Path]) -> list[tuple[str, str]]:
    bare = folder / "bare.py"
    bare.write_text(BARE_APP)
    co_tui = [sys.executable, "-m", "co_tui"]

    empty = folder / "empty" / "home"
    empty.parent.mkdir()
    resumed = [*co_tui, "--resume", "runtime"]
    cases = {
        "co-tui, the terminal answering": (co_tui, empty, True),
        "co-tui, the terminal silent": (co_tui, empty, False),
        f"co-tui resuming {SIZES[-1]:,} messages": (resumed, homes[SIZES[-1]], True),
    }
    bare_case = ([sys.executable, str(bare)], empty, True)

    def measured(command: list[str], home: Path, answers: bool) -> Launched:
        return launch_to_echo(command, {"CO_TUI_HOME": str(home)}, home.parent, answers=answers)

    # In turns: whatever else the machine does meanwhile, it does to all of them. In any order: a start is faster after
    # another of the same program, whose files are in the processor's caches.
    taken: dict[str, list[Launched]] = {name: [] for name in ("bare", *cases)}
    every = [("bare", bare_case), *cases.items()]
    for _ in range(LAUNCHES):
        for name, case in random.sample(every, len(every)):
            taken[name].append(measured(*case))
    base = taken.pop("bare")
    return [
        ("bare Textual app, launch to a key echoed", _compared(base, base)),
        *((name, f"{_compared(each, base)}, target 1.15×") for name, each in taken.items()),
    ]


def _compared(taken: list[Launched], base: list[Launched]) -> str:
    """The median time and processor time, each with its multiple of another's."""
    ms, base_ms = median([each.ms for each in taken]), median([each.ms for each in base])
    used, base_used = median([each.processor_ms for each in taken]), median([each.processor_ms for each in base])
    return f"{ms:.0f} ms ({ms / base_ms:.2f}×), processor {used:.0f} ms ({used / base_used:.2f}×)"


def _commands(home: Path) -> list[tuple[str, str]]:
    """What a short command takes, compared with Python itself. `run` ends at the request, which nobody answers."""
    co_tui, nobody = [sys.executable, "-m", "co_tui"], "http://127.0.0.1:9/v1"
    environ = {"CO_TUI_HOME": str(home), "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": nobody, "CO_TUI_MAX_RETRIES": "0"}
    cases = {
        'python -c ""': [sys.executable, "-c", ""],
        'python -c "import textual"': [sys.executable, "-c", "import textual"],
        "co-tui --help": [*co_tui, "--help"],
        "co-tui sessions": [*co_tui, "sessions"],
        "co-tui show": [*co_tui, "show", "runtime"],
        "co-tui run, to the request": [*co_tui, "run", "--private", "-p", "hi", "--model", "openai-chat:none"],
    }
    taken: dict[str, list[Launched]] = {name: [] for name in cases}
    for _ in range(LAUNCHES):
        for name, command in cases.items():
            taken[name].append(run_to_end(command, environ, home.parent))
    return [(name, _compared(each, taken['python -c ""'])) for name, each in taken.items()]


async def _using(home: Path, size: int) -> list[tuple[str, str]]:
    app = CoTui(launch_for(home, session_id="runtime"))
    app.load_engine = lambda: None
    start = time.perf_counter()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        opened = (time.perf_counter() - start) * 1000
        rows = [(f"{size:,} messages: opened", f"{opened:.0f} ms")]
        streaming = asyncio.create_task(_stream(app, MIXED * 200, tokens_per_s=500))
        await asyncio.sleep(0.2)
        typed = [each.seen_ms for each in await keys(app, 60, pause_s=0.03)]
        rows.append(("  key to frame, 500 tokens/s streaming", _spread(typed)))
        streaming.cancel()
    return rows


async def _stream(app: CoTui, text: str, tokens_per_s: float) -> None:
    """Feed a reply through the bridge's own handler at a steady pace."""
    start, sent = time.perf_counter(), 0
    while sent < len(text):
        due = int((time.perf_counter() - start) * tokens_per_s) * TOKEN_CHARS
        while sent < min(due, len(text)):
            _delta(app, text[sent : sent + TOKEN_CHARS])
            sent += TOKEN_CHARS
        await asyncio.sleep(0.005)


def _delta(app: CoTui, text: str) -> None:
    fact = StreamDelta(turn=1, part=0, kind="text", text=text)
    app.chat.apply_event(
        Event(session_id="runtime", seq=None, timestamp="2026-01-01T00:00:00", fact=fact), app.controller.state
    )


async def _streaming(home: Path) -> list[tuple[str, str]]:
    rows = []
    for name, text in (
        ("mixed Markdown", MIXED * 400),
        ("one huge code block", CODE),
        ("one huge paragraph", "word " * 12_000),
    ):
        app = CoTui(launch_for(home, session_id="runtime"))
        app.load_engine = lambda: None
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            text = text[:STREAMED_CHARS]
            start = time.perf_counter()
            for at in range(0, len(text), TOKEN_CHARS):
                _delta(app, text[at : at + TOKEN_CHARS])
                if at % (TOKEN_CHARS * 50) == 0:
                    await asyncio.sleep(0)
            while app.chat.transcript._pending:
                await asyncio.sleep(0.01)
            await frame(app)
            taken = time.perf_counter() - start
        rows.append((f"tokens/s on screen, {name}", f"{len(text) / TOKEN_CHARS / taken:,.0f} (target 2,000)"))
    return rows


def _memory(folder: Path) -> list[tuple[str, str]]:
    """Of the app in a terminal."""
    provider, rows = Provider(), []
    folder.mkdir()
    with provider.serving(), AppInTerminal(provider.url, folder) as app:
        rows.append(("memory at the first screen", f"{app.resident_mb:.0f} MB"))
        app.read_until_idle()
        rows.append(("  with the engine", f"{app.resident_mb:.0f} MB"))
        provider.script = [Reply(text="It is DONE.")]
        app.ask("hello", "DONE")
        app.read_until_idle()
        rows.append(("  after a turn", f"{app.resident_mb:.0f} MB"))
    return rows


def _spread(values: list[float]) -> str:
    return f"p50 {median(values):.1f} ms, p95 {percentile(values, 0.95):.1f} ms"
