"""A reply from the server's socket to the screen: the processor time a chunk that we add to pydantic-ai's own.

Each part reads its stream at the same time as pydantic-ai alone reads another one like it, so that what else the
machine does costs both alike. The difference is what the part adds with all parts below it.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple, Protocol

from tests.benchmarks.app_in_terminal import AppInTerminal
from tests.benchmarks.figures import print_table
from tests.benchmarks.streaming.replies import KINDS, Wanted

CHUNKS: Final = 3_000
"""About 12 kB."""
PER_S: Final = 500
LOADS: Final = (0, 4)
"""Busy loops on the machine."""
ROUNDS: Final = 3
WARM_UP: Final = 200
TARGET_MS: Final = 0.25
PARTS: Final = ("wire", "session", "app")


class Reader(Protocol):
    def seconds_for(self, wanted: Wanted) -> float: ...


class Client:
    """A part below the screen, in a process of its own."""

    def __init__(self, part: str, url: str) -> None:
        command = [sys.executable, "-m", "tests.benchmarks.streaming.clients", part, url]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds_for(self, wanted: Wanted) -> float:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(wanted), file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


class App(AppInTerminal):
    """The whole app."""

    def seconds_for(self, wanted: Wanted) -> float:
        start = self.processor_s
        self.ask(wanted.prompt, wanted.last_word)
        self.read_until_idle()
        return self.processor_s - start


class Cost(NamedTuple):
    """Milliseconds of processor time for a reply."""

    floor: float
    added: float

    @property
    def text(self) -> str:
        return f"{self.floor:.2f} + {self.added:.2f}"


def main(
    chunks: int = CHUNKS,
    per_s: int = PER_S,
    kinds: Sequence[str] = KINDS,
    loads: Sequence[int] = LOADS,
    rounds: int = ROUNDS,
    parts: Sequence[str] = PARTS,
) -> None:
    rows = []
    with streaming_server() as url:
        for load in loads:
            for kind in kinds:
                costs = {part: _median_cost(part, url, Wanted(kind, chunks, per_s), load, rounds) for part in parts}
                name = f"{kind}, {load} busy loops" if load else kind
                rows.append((name, " · ".join(f"{part} {cost.text}" for part, cost in costs.items())))
    speed = f"at {per_s}/s" if per_s else "at full speed"
    print_table([("", f"ms of processor time a chunk, {chunks:,} {speed} (target: {TARGET_MS} added)"), *rows])


def _median_cost(part: str, url: str, wanted: Wanted, load: int, rounds: int) -> Cost:
    with ExitStack() as ends:
        floor = ends.enter_context(_client("library", url))
        if part == "app":
            folder = Path(ends.enter_context(tempfile.TemporaryDirectory()))
            reader: Reader = ends.enter_context(App(url, folder))
        else:
            reader = ends.enter_context(_client(part, url))
        _cost(floor, reader, Wanted(wanted.kind, WARM_UP))
        ends.enter_context(busy_loops(load))
        costs = [_cost(floor, reader, wanted) for _ in range(rounds)]
    return Cost(*(median(each) / wanted.chunks for each in zip(*costs, strict=True)))


def _cost(floor: Reader, reader: Reader, wanted: Wanted) -> Cost:
    """What both take for the same reply, read at the same time."""
    with ThreadPoolExecutor() as both:
        alone_s, whole_s = both.map(lambda each: each.seconds_for(wanted), (floor, reader))
    return Cost(alone_s * 1000, (whole_s - alone_s) * 1000)


@contextmanager
def _client(part: str, url: str) -> Iterator[Client]:
    client = Client(part, url)
    with client.process:
        yield client
        client.process.kill()


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    with ExitStack() as ends:
        for _ in range(count):
            loop = ends.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            ends.callback(loop.kill)
        yield


@contextmanager
def streaming_server() -> Iterator[str]:
    """The address of a server in a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.streaming.server"]
    with ExitStack() as ends:
        server = ends.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        ends.callback(server.terminate)
        assert server.stdout is not None
        yield server.stdout.readline().strip()
