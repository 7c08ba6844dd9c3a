"""A long job: many calls with long results in a small window. No pair is broken; plan and rules stay."""

from pathlib import Path
from typing import Any

from co_tui.events import SessionError
from co_tui.session.approvals.questions import Unattended
from co_tui.session.compaction.compaction_notices import STOPPED
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from tests.support.environments import facts
from tests.support.long_run import drawn, only_in_a_long_run
from tests.support.stores import replayed, stored_events
from tests.support.working import Call, Working, working_in

CALLS = drawn(16)
RULE = "From now on always answer in French, and never touch the file called untouchable.cfg."
WINDOW = 16_000


def plan(done: int) -> Call:
    steps = [("gather the figures", "in_progress" if done == 0 else "completed"), ("compare the harbours", "pending")]
    return "write_plan", {"items": [{"content": text, "status": state} for text, state in steps]}


def sizes(count: int) -> list[int]:
    """Up to 100,000 characters, as they come: short, long, very long."""
    return [(500, 4_000, 20_000, 100_000)[n % 4] for n in range(count)]


def reports(folder: Path, count: int) -> list[Any]:
    """Files to read, and the calls that read them."""
    folder.mkdir()
    for n, size in enumerate(sizes(count)):
        line = f"figure {n} of harbour_{n} is {n * 7919}\n"
        (folder / f"report_{n}.txt").write_text(line * (size // len(line) + 1))
    return [("read_file", {"path": f"report_{n}.txt"}) for n in range(count)]


@only_in_a_long_run
async def test_a_long_job_continues_in_a_small_window(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    model = Working(plan(0), *reports(folder, CALLS), window=WINDOW)
    model.one_at_a_time = True  # summarised offline: the script is for the work alone
    environment = working_in(folder, home, model, Unattended(), agent_max_steps=10_000)
    session = await Session.start(environment, "scripted")
    assert await session.submit(f"{RULE} Read all reports.") is Outcome.DONE
    errors = facts(stored_events(home, session.id), SessionError)
    # One result can take most of this window: when two compactions in a row free little, sending less takes over.
    assert len(session.state.compactions) > 1 and {error.kind for error in errors} <= {STOPPED}
    first = next(n for n, request in enumerate(model.requests) if "summarised" in str(request))
    for request in map(str, model.requests[first:]):
        assert "always answer in French" in request and "compare the harbours" in request
    await session.close()
    environment.store.close()
    assert replayed(home, session.id) == session.state
