"""The work of the open session that is under way: background commands and delegations."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from co_tui.events import (
    ApprovalDecided,
    ApprovalRequested,
    DelegationEnd,
    DelegationStart,
    Fact,
    ToolActivity,
    ToolOutput,
)
from co_tui.events.tool_calls import tool_label
from co_tui.events.tool_wording import call_summary
from co_tui.events.wording import counted
from co_tui.inert import one_line

if TYPE_CHECKING:
    from co_tui.session.session import Session
    from co_tui.session.tools.command_watch import BackgroundCommand

RUN, AGENT = "run", "agent"
NAME_CHARS: Final = 200
LINE_CHARS: Final = 200
PENDING: Final = "approval pending"
STARTS_OR_ENDS: Final = frozenset(("start_command", "stop_command", "run_command"))
"""Tools after which other commands may be in the background."""


class WorkRow(NamedTuple):
    """Work under way, in a line."""

    key: str
    """The id of a command, or the name of a delegation."""
    kind: str
    name: str
    seconds: float
    last: str
    """What it printed or did last."""


class _Delegate(NamedTuple):
    task: str
    since: float
    doing: str = ""
    asked: int = 0
    """Of its calls that wait for approval."""


class FollowedDelegations:
    """The delegations of the running turn, by the events of this process; callers pass in the time."""

    def __init__(self) -> None:
        self._running: dict[str, _Delegate] = {}

    def apply(self, fact: Fact, now: float) -> bool:
        """Whether one began or ended."""
        match fact:
            case DelegationStart(agent=agent, task=task):
                self._running[agent] = _Delegate(one_line(task, NAME_CHARS), now)
                return True
            case DelegationEnd(agent=agent):
                return self._running.pop(agent, None) is not None
            case ToolActivity() | ToolOutput() | ApprovalRequested() | ApprovalDecided() if fact.agent in self._running:
                self._running[fact.agent] = _after(self._running[fact.agent], fact)
        return False

    def rows(self, now: float) -> list[WorkRow]:
        return [
            WorkRow(agent, AGENT, each.task, now - each.since, PENDING if each.asked else each.doing)
            for agent, each in self._running.items()
        ]


def _after(delegate: _Delegate, fact: ToolActivity | ToolOutput | ApprovalRequested | ApprovalDecided) -> _Delegate:
    match fact:
        case ToolActivity(stage="started", tool_name=name, text=text):
            return delegate._replace(doing=one_line(f"{tool_label(name)} {call_summary(name, text)}", LINE_CHARS))
        case ToolOutput(text=text):
            return delegate._replace(doing=last_line(text))
        case ApprovalRequested():
            return delegate._replace(asked=delegate.asked + 1)
        case ApprovalDecided():
            return delegate._replace(asked=max(0, delegate.asked - 1))
    return delegate


def last_line(output: str) -> str:
    return one_line(output.rstrip().rpartition("\n")[2], LINE_CHARS)


class SessionWork:
    """Looks at the work of the open session, and stops it."""

    def __init__(self, session: "Callable[[], Session | None]") -> None:
        self._session = session

    def commands(self) -> "Sequence[BackgroundCommand]":
        """The background commands that run."""
        session = self._session()
        return session.commands.running() if session is not None else ()

    def command_rows(self) -> list[WorkRow]:
        return [
            WorkRow(each.id, RUN, one_line(each.command, NAME_CHARS), each.seconds, last_line(each.output))
            for each in self.commands()
        ]

    @property
    def delegations(self) -> list[str]:
        """The delegations of the running turn, by name."""
        session = self._session()
        return list(session.running_delegations) if session is not None else []

    async def stop(self, key: str) -> None:
        """Stop a command or a delegation; what it did so far stays."""
        if (session := self._session()) is None:
            return
        if key in session.running_delegations:
            session.stop_delegation(key)
        else:
            await session.commands.end(key)

    def summary(self) -> str:
        """What is under way, in a few words; empty if nothing is."""
        commands, delegations = len(self.commands()), len(self.delegations)
        parts = (
            counted(commands, "background command") if commands else "",
            counted(delegations, "delegation") if delegations else "",
        )
        return " and ".join(filter(None, parts))
