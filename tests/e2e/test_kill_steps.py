"""`kill -9` of a real process at each step between reply, question, answer and result, and what another one finds.

Every other moment is covered by `tests/session/test_killed.py`, on logs that are cut off there.
"""

import asyncio
import subprocess
import sys
from pathlib import Path

from co_tui.session.questions import Unattended
from co_tui.session.session import Session
from co_tui.session.turn import Outcome
from tests.support.approving import YES, Person, log_of
from tests.support.killed import check_finished, check_waits_or_is_closed, environment_of, statuses
from tests.support.killing import RAN, MarkingTools

INTERRUPTED = ["interrupted"]
MAIN = {
    "main-reply": [*INTERRUPTED, *INTERRUPTED, *INTERRUPTED],
    "main-question": ["content of a", "wrote b", "wrote c"],
    "main-answer": ["content of a", *INTERRUPTED, *INTERRUPTED],
    "main-tool": ["content of a", *INTERRUPTED, *INTERRUPTED],
    "main-result": ["content of a", "wrote b", "wrote c"],
}
DELEGATE = {
    "delegate-delegation": "interrupted · 0 calls",
    "delegate-reply": "interrupted · 3 calls",
    "delegate-question": "done · 3 calls",
    "delegate-answer": "interrupted · 3 calls",
    "delegate-tool": "interrupted · 3 calls",
    "delegate-result": "interrupted · 3 calls",
    "delegate-report": "done · 3 calls",
    "parallel-question": "done · 1 call",
    "nested-question": "done · 2 calls",
}


def test_at_each_step_it_comes_back_as_a_question_or_as_interrupted(tmp_path: Path) -> None:
    kills = [*MAIN, *DELEGATE]
    subprocess.run([sys.executable, "-m", "tests.support.killing", str(tmp_path), *kills], check=True, timeout=120)
    asyncio.run(_opened_again(tmp_path, kills))


async def _opened_again(tmp_path: Path, kills: list[str]) -> None:
    for each in kills:
        home, (scenario, step) = tmp_path / each, each.split("-")
        person = Person(*[YES] * 5)
        made = environment_of(home, scenario, MarkingTools(home), person)
        resumed = await Session.resume(made, (home / "session").read_text())
        check_waits_or_is_closed(resumed.state)
        assert await resumed.ask_pending() is (Outcome.DONE if step == "question" else None), each
        assert bool(person.asked) == (step == "question")
        ran = (home / RAN).read_text().split() if (home / RAN).exists() else []
        assert len(ran) == len(set(ran)), "no tool ran twice"
        assert bool(ran) == (step in ("question", "tool", "result", "report")), each
        log = log_of(made, resumed)
        check_finished(resumed.state, log)
        if scenario == "main":
            assert statuses(log) == MAIN[each]
        else:
            assert statuses(log)[0].startswith(DELEGATE[each]), each
        made.questions = Unattended()
        assert await resumed.submit("And now?") is Outcome.DONE
        await resumed.close()
        made.store.close()
