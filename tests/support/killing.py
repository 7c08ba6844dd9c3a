"""Run in a process of its own: for each step a child works on a session until it kills itself there with SIGKILL.

Each child is a fork of that process before it has any thread.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from co_tui.events import ApprovalDecided, ApprovalRequested, DelegationEnd, DelegationStart, Event, Fact, Message
from co_tui.session.recorder import Recorder
from co_tui.session.session import Session
from tests.support.approving import YES, Person, Tools
from tests.support.killed import PROMPT, environment_of

RAN = "ran.txt"


class MarkingTools(Tools):
    """Each run of `write` leaves a line in a file, which a kill does not undo."""

    def __init__(self, home: Path, *, killed: bool = False) -> None:
        super().__init__()
        self._file = home / RAN
        self._killed = killed

    def write(self, path: str) -> str:
        with self._file.open("a") as file:
            file.write(f"{path}\n")
        if self._killed:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().write(path)


def _is_reply(fact: Fact) -> bool:
    return isinstance(fact, Message) and "'tool_name': 'write'" in str(fact.message) and _kind(fact) == "response"


def _is_result(fact: Fact) -> bool:
    return isinstance(fact, Message) and "wrote b" in str(fact.message) and _kind(fact) == "request"


def _kind(fact: Message) -> Any:
    return fact.message["kind"]


STEPS: dict[str, Callable[[Fact], bool]] = {
    "reply": _is_reply,
    "question": lambda fact: isinstance(fact, ApprovalRequested),
    "answer": lambda fact: isinstance(fact, ApprovalDecided),
    "result": _is_result,
    "delegation": lambda fact: isinstance(fact, DelegationStart),
    "report": lambda fact: isinstance(fact, DelegationEnd),
}
IN_TOOL = "tool"
"""After it has done its work, before anything is logged of that."""


async def work(home: Path, scenario: str, step: str) -> None:
    publish = Recorder._publish

    def killed_publish(self: Recorder, events: tuple[Event, ...]) -> None:
        if step in STEPS and any(STEPS[step](event.fact) for event in events):
            os.kill(os.getpid(), signal.SIGKILL)
        publish(self, events)

    Recorder._publish = killed_publish  # type: ignore[method-assign]
    tools = MarkingTools(home, killed=step == IN_TOOL)
    made = environment_of(home, scenario, tools, Person(*[YES] * 5))
    session = await Session.start(made, "scripted")
    (home / "session").write_text(session.id)
    await session.submit(PROMPT)


def work_until_killed(root: Path, kills: Sequence[str]) -> None:
    for each in kills:
        home = root / each
        home.mkdir()
        child = os.fork()
        if child == 0:
            asyncio.run(work(home, *each.split("-")))
            os._exit(1)  # it should have been killed
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, f"{each}: {status}"
