"""A reply from the server's socket to the screen: processor time a chunk, by part.

The floor is what OpenAI's client and pydantic-ai take for the same stream. The rest is ours: each part is measured
with the parts below it, and its own share is the difference.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tests.benchmarks.figures import print_table
from tests.benchmarks.streaming.app_in_terminal import AppInTerminal
from tests.benchmarks.streaming.replies import KINDS, Wanted

LENGTHS: Final = (1_500, 6_000)
"""In chunks; about 6 and 24 kB."""
SPEEDS: Final = (0, 500)
WARM_UP: Final = 200
TARGET_MS: Final = 0.25
BELOW: Final = ("openai", "library", "wire", "session")


class Shares(NamedTuple):
    """Milliseconds of processor time a chunk."""

    openai: float
    library: float
    wire: float
    session: float
    screen: float

    @property
    def text(self) -> str:
        ours = self.wire + self.session + self.screen
        return (
            f"floor {self.openai + self.library:.2f} (OpenAI {self.openai:.2f}, pydantic-ai {self.library:.2f}) · "
            f"ours {ours:.2f} (wire {self.wire:.2f}, session {self.session:.2f}, screen {self.screen:.2f})"
        )


def main(lengths: Sequence[int] = LENGTHS, speeds: Sequence[int] = SPEEDS, kinds: Sequence[str] = KINDS) -> None:
    rows = []
    with _server() as url:
        for kind in kinds:
            wanted = [Wanted(kind, chunks, per_s) for per_s in speeds for chunks in lengths]
            for each, shares in zip(wanted, _measured(url, kind, wanted), strict=True):
                speed = f"{each.per_s}/s" if each.per_s else "full speed"
                rows.append((f"{kind}, {each.chunks:,} chunks, {speed}", shares.text))
    print_table([("", f"ms of processor time a chunk (target: ours {TARGET_MS})"), *rows])


def _measured(url: str, kind: str, wanted: Sequence[Wanted]) -> list[Shares]:
    warm_up = Wanted(kind, WARM_UP)
    below = [_client_ms(part, url, [warm_up, *wanted])[1:] for part in BELOW]
    with tempfile.TemporaryDirectory() as folder, AppInTerminal(url, Path(folder)) as app:
        app.seconds_for(warm_up)
        whole = [app.seconds_for(each) * 1000 / each.chunks for each in wanted]
    return [_shares(totals) for totals in zip(*below, whole, strict=True)]


def _shares(totals: Sequence[float]) -> Shares:
    return Shares(*(after - before for before, after in zip((0.0, *totals), totals, strict=False)))


def _client_ms(part: str, url: str, wanted: Sequence[Wanted]) -> list[float]:
    asked = "".join(f"{json.dumps(each)}\n" for each in wanted)
    command = [sys.executable, "-m", "tests.benchmarks.streaming.clients", part, url]
    done = subprocess.run(command, input=asked, stdout=subprocess.PIPE, text=True, check=True)
    return [float(line) * 1000 / each.chunks for line, each in zip(done.stdout.split(), wanted, strict=True)]


@contextmanager
def _server() -> Iterator[str]:
    """The address of a server in a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.streaming.server"]
    with ExitStack() as ends:
        server = ends.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        ends.callback(server.terminate)
        assert server.stdout is not None
        yield server.stdout.readline().strip()
