"""Of a private session nothing is left: not when it ends, not when it is killed."""

import signal
import time
from pathlib import Path

from tests.support.cases import each_case
from tests.support.command import CliCommand
from tests.support.here import Here
from tests.support.provider import Provider, Reply
from tests.support.waiting import wait_until

MARKER = "xylophone"


def traces(home: Path, word: str = MARKER) -> list[Path]:
    """The files whose name or content holds the word."""
    files = [file for file in home.rglob("*") if file.is_file()]
    return [file for file in files if word in str(file) or word.encode() in file.read_bytes()]


def test_a_private_run_answers_and_leaves_nothing(served_here: Here, provider: Provider) -> None:
    provider.default = Reply(text=f"The word is {MARKER}.")
    done = served_here("run", "--private", "-p", f"Say {MARKER}")
    assert (done.code, done.out.strip()) == (0, f"The word is {MARKER}.")
    events = served_here("run", "--private", "--json", "-p", f"Say {MARKER}").objects
    assert events[0]["type"] == "session.start" and events[-1]["type"] == "session.end"
    assert not traces(served_here.home) and not traces(served_here.home, events[0]["session_id"])
    assert not served_here("sessions", "--json").objects
    assert served_here("run", "-p", f"Say {MARKER}").code == 0
    assert traces(served_here.home), "the test finds what is kept"


def test_a_killed_one_leaves_nothing_either(served: CliCommand, provider: Provider) -> None:
    provider.default = Reply(text=f"{MARKER} " * 400, delay_s=0.02, open_end=True)
    process = served.start_loaded("run", "--private", "-p", f"Say {MARKER}")
    wait_until(lambda: provider.requests)
    time.sleep(1.5)  # longer than what is typed or written waits to be saved
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not traces(served.home)


@each_case(
    "arguments",
    [
        ("--private", "--continue"),
        ("--private", "--resume"),
        ("--resume", "x", "--private"),
        ("run", "--private", "--session", "x", "-p", "hi"),
        ("run", "--continue", "--private", "-p", "hi"),
        ("--private", "run", "--continue", "-p", "hi"),
    ],
)
def test_a_private_session_is_a_new_one(here: Here, arguments: tuple[str, ...]) -> None:
    done = here(*arguments)
    assert done.code == 2 and "--private starts a new session and cannot be used with" in done.err


def test_other_commands_begin_no_session(here: Here) -> None:
    done = here("--private", "sessions")
    assert done.code == 2 and "`sessions` does not" in done.err
