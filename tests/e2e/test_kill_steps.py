"""`kill -9` of a real process at each step between reply, question, answer and result, and what another one finds.

Every other moment is covered by `tests/session/turns/test_killed.py`, on logs that are cut off there.
"""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from co_tui.session.approvals.questions import Unattended
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.approving import YES, Person, log_of
from tests.support.command import CliCommand
from tests.support.killed import check_finished, check_waits_or_is_closed, environment_of, statuses
from tests.support.killing import RAN, MarkingTools
from tests.support.waiting import PATIENCE_S

KILLING = """
from pathlib import Path
from tests.support.killing import work_until_killed

work_until_killed(Path(how["root"]), how["kills"])
"""
INTERRUPTED = ["interrupted"]
MAIN = {
    "main-reply": [*INTERRUPTED, *INTERRUPTED, *INTERRUPTED],
    "main-question": ["content of a", "wrote b", "wrote c"],
    "main-answer": ["content of a", *INTERRUPTED, *INTERRUPTED],
    "main-tool": ["content of a", *INTERRUPTED, *INTERRUPTED],
    "main-result": ["content of a", "wrote b", *INTERRUPTED],
}
DELEGATE = {
    "delegate-delegation": "interrupted · 0 calls",
    "delegate-reply": "interrupted · 3 calls",
    "delegate-question": "done · 3 calls",
    "delegate-answer": "interrupted · 3 calls",
    "delegate-tool": "interrupted · 3 calls",
    "delegate-result": "interrupted · 3 calls",
    "delegate-report": "done · 3 calls",
    "nested-question": "done · 2 calls",
}
PARALLEL = "parallel-question"
"""Two delegates at once: either may be the first to ask, and the kill stops the other before its question."""


def test_at_each_step_it_comes_back_as_a_question_or_as_interrupted(co_tui: CliCommand, tmp_path: Path) -> None:
    kills = [*MAIN, *DELEGATE, PARALLEL]
    process = co_tui.start_loaded(code=KILLING, root=str(tmp_path), kills=kills)
    assert process.communicate(4 * PATIENCE_S) == ("", "") and process.returncode == 0
    asyncio.run(_opened_again(tmp_path, kills))


async def _opened_again(tmp_path: Path, kills: list[str]) -> None:
    for each in kills:
        async with AsyncExitStack() as opened:
            await _check(tmp_path / each, each, opened)


async def _check(home: Path, kill: str, opened: AsyncExitStack) -> None:
    scenario, step = kill.split("-")
    person = Person(*[YES] * 5)
    made = environment_of(home, scenario, MarkingTools(home), person)
    opened.callback(made.store.close)
    resumed = await Session.resume(made, (home / "session").read_text())
    opened.push_async_callback(resumed.close)
    check_waits_or_is_closed(resumed.state)
    waiting = [resumed.state.delegations[asked.agent].call_id for asked in resumed.state.pending if asked.agent]
    assert await resumed.ask_pending() is (Outcome.DONE if step == "question" else None), kill
    assert bool(person.asked) == (step == "question")
    ran = (home / RAN).read_text().split() if (home / RAN).exists() else []
    assert len(ran) == len(set(ran)), "no tool ran twice"
    assert bool(ran) == (step in ("question", "tool", "result", "report")), kill
    log = log_of(made, resumed)
    check_finished(resumed.state, log)
    shown = [each.replace(" · fresh", "") for each in statuses(log)]
    if kill in MAIN:
        assert shown == MAIN[kill]
    elif kill == PARALLEL:
        assert waiting in (["call_0"], ["call_1"])
        asked = shown.pop(waiting == ["call_1"])
        assert asked.startswith("done · 1 call") and shown[0].startswith("interrupted"), (waiting, asked, shown)
    else:
        assert shown[0].startswith(DELEGATE[kill]), kill
    made.questions = Unattended()
    assert await resumed.submit("And now?") is Outcome.DONE
