"""`kill -9` in the middle of a streamed answer, at random moments."""

import json
import random
import signal
import sqlite3
import time

import pytest

from tests.support.command import CliCommand
from tests.support.here import Here
from tests.support.long_run import drawn
from tests.support.provider import Provider, Reply
from tests.support.waiting import PATIENCE_S, wait_until

ROUNDS = drawn(3)


def test_nothing_acknowledged_is_lost_and_the_session_continues(
    served: CliCommand, served_here: Here, provider: Provider
) -> None:
    words = " ".join(f"w{n}" for n in range(400))
    acknowledged: list[dict] = []
    session_id = ""
    moments = random.Random(7)
    for round_ in range(ROUNDS):
        provider.script = [Reply(text=words, delay_s=0.01, open_end=True)]
        where = ["--continue"] if session_id else []
        process = served.start_loaded("run", "-p", f"prompt {round_}", "--json", *where)
        assert process.stdout is not None
        seen = []
        for line in process.stdout:
            seen.append(line)
            if '"session.usage_info"' in line:
                break
        wait_until(lambda: served.has_half_a_reply())  # else there is nothing to recover yet
        time.sleep(moments.uniform(0.0, 1.2))
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate(timeout=PATIENCE_S)
        lines = [line for line in (*seen, *rest.splitlines(keepends=True)) if line.endswith("\n")]
        acknowledged += [json.loads(line) for line in lines]
        session_id = acknowledged[0]["session_id"]

        with sqlite3.connect(served.database) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        last = served_here("show", session_id, "--json").objects[-1]["message"]
        assert last["kind"] == "response" and last["state"] == "interrupted"
        text = last["parts"][0]["content"]
        assert text and words.startswith(text.strip())

    provider.script = [Reply(text="Still here.")]
    assert served_here("run", "--continue", "-p", "alive?").out.strip() == "Still here."
    log = {(e["seq"], e["type"]) for e in _log(served, session_id)}
    assert {(event["seq"], event["type"]) for event in acknowledged} <= log
    assert [seq for seq, _ in sorted(log)] == list(range(1, len(log) + 1))
    prompts = [entry["message"]["parts"][0]["content"] for entry in served_here("show", session_id, "--json").objects][
        ::2
    ]
    assert prompts == [*(f"prompt {n}" for n in range(ROUNDS)), "alive?"]


def _log(command: CliCommand, session_id: str) -> list[dict]:
    with sqlite3.connect(command.database) as connection:
        rows = connection.execute("SELECT seq, type FROM events WHERE session_id = ?", (session_id,)).fetchall()
    return [{"seq": seq, "type": kind} for seq, kind in rows]


@pytest.mark.parametrize("delay_s", [0.0, 0.2, 0.6])
def test_killed_before_the_first_word(
    served: CliCommand, served_here: Here, provider: Provider, delay_s: float
) -> None:
    provider.script = [Reply(text="late", delay_s=30)]
    process = served.start("run", "-p", "hello")
    time.sleep(delay_s)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE_S)
    provider.script = []
    assert served_here("sessions", "--json").code == 0
    assert served_here("run", "-p", "again").code == 0
