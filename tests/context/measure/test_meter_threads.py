"""One meter, used by several threads at once: each sees figures that belong together."""

import sys
import threading
from collections.abc import Iterator

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.usage import RequestUsage

from co_tui.context.measure.count import Reading, Scaffold, Window
from co_tui.context.measure.meter import Meter

SCAFFOLD = Scaffold(instructions="Be brief.")
WINDOW = Window(tokens=100_000, known=True)
COPIES = 3_000


@pytest.fixture(autouse=True)
def quick_switches() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def said(words: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(words)])


def replied(words: str, input_tokens: int) -> ModelResponse:
    usage = RequestUsage(input_tokens=input_tokens, output_tokens=20)
    return ModelResponse(parts=[TextPart(words)], usage=usage)


def talk(topic: str, turns: int) -> list[ModelMessage]:
    """The replies report nothing, so that only what a test reports counts."""
    pairs = [(said(f"{topic} {n} " * 9), ModelResponse(parts=[TextPart(f"answer {n} " * 7)])) for n in range(turns)]
    return [message for pair in pairs for message in pair]


def read(meter: Meter, messages: list[ModelMessage]) -> Reading:
    return meter.read(messages, SCAFFOLD, WINDOW)


class Working:
    """A thread that measures, in a loop, until the block ends."""

    def __init__(self, meter: Meter, *talks: list[ModelMessage]) -> None:
        self._meter, self._talks = meter, talks
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self.readings: set[tuple[int, Reading]] = set()
        self.error: Exception | None = None

    def _work(self) -> None:
        try:
            while not self._ended.is_set():
                for number, messages in enumerate(self._talks):
                    self.readings.add((number, read(self._meter, messages)))
        except Exception as error:
            self.error = error

    def __enter__(self) -> "Working":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


def test_a_copy_made_while_another_thread_measures_is_whole() -> None:
    meter, long = Meter(), talk("long", 6)
    other, part = talk("other", 4), long[:5]
    expected = [read(Meter(), messages) for messages in (long, other, part)]
    with Working(meter, long, other, part) as working:
        for _ in range(COPIES):
            copied = meter.copied()
            assert [read(copied, messages) for messages in (long, other, part)] == expected
    assert working.error is None
    assert working.readings == set(enumerate(expected)), "nor did the copies disturb the measuring"


def test_two_threads_that_measure_disturb_neither_each_other_nor_a_reply() -> None:
    long, other = talk("long", 6), talk("other", 4)
    reply = replied("so it is", 500)
    alone = Meter()
    alone.sent(long, SCAFFOLD)
    alone.reported(reply)
    expected, learnt = alone.read_reply(reply, SCAFFOLD, WINDOW), alone.as_json()
    for _ in range(COPIES // 30):
        meter = Meter()
        with Working(meter, other, long[:3]) as working:
            for _ in range(10):
                meter.sent(long, SCAFFOLD)
            meter.reported(reply)
            assert meter.read_reply(reply, SCAFFOLD, WINDOW) == expected
            meter.release(long)
        assert working.error is None
        assert meter.as_json() == learnt, "what was learnt is not lost to a measurement at the same time"


def test_exact_counts_reach_what_is_measured_at_the_same_time() -> None:
    for _ in range(COPIES // 30):
        meter, messages = Meter(), talk("counted", 5)
        with Working(meter, messages, messages[:4]) as working:
            for message in messages:
                meter.set_exact(message, 1_000)
        assert working.error is None
        counted = Meter()
        for message in messages:
            counted.set_exact(message, 1_000)
        assert read(meter, messages) == read(counted, messages)
