"""What the machine saw of each tool call, from its turn until its result is logged (E14)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from posixpath import normpath
from typing import Any, Final, NamedTuple, get_args

from pydantic_ai.messages import ModelRequest, RetryPromptPart, ToolReturnPart

from co_tui.events import CallOutcome, Json
from co_tui.events.facts.agents import DELEGATION_SEPARATOR
from co_tui.events.facts.conversation import CallEnd, Doubt
from co_tui.events.facts.files import NEW, UNSURE
from co_tui.events.file_diff import diff_in, read_diff
from co_tui.events.storable import storable_text
from co_tui.events.tool_calls import CHANGING_TOOLS
from co_tui.events.tool_wording import stage_of
from co_tui.session.state.session_state import SessionState

_DOUBTS: Final = get_args(Doubt)


@dataclass(slots=True)
class CallFacts:
    """What is known of one call."""

    exit_code: int | None = None
    """Of its command."""
    is_late: bool = False
    """Whether its command was stopped at the time limit."""
    is_replaced: bool = False
    """Whether a hook gave it another input."""
    read: tuple[Json, ...] = ()
    written: tuple[Json, ...] = ()
    is_complete: bool = False
    """Whether nothing but `written` can have changed, of what snapshots cover."""
    covers: Callable[[str], bool] | None = None
    """Whether the snapshots around it show a path; None without them."""
    doubt: Doubt = ""
    begun: int | None = None
    """How many background commands had begun before it, if none of them was running."""

    def outcome(self, call_id: str, ended: CallEnd, agent: str = "") -> CallOutcome:
        return CallOutcome(
            call_id=call_id,
            exit_code=self.exit_code,
            ended=ended,
            read=self.read,
            written=self.written,
            is_complete=self.is_complete and self.doubt != "all",
            doubt=self.doubt,
            agent=agent,
        )


CALL_FACTS: ContextVar[CallFacts | None] = ContextVar("the facts of the call that runs", default=None)


class Background(NamedTuple):
    """The background commands of a session."""

    begun: int = 0
    """How many there were so far."""
    runs: bool = False
    """Whether one is running."""


class CallOutcomes:
    """The facts of the calls of one session whose results are not logged yet."""

    def __init__(self) -> None:
        self._facts: dict[tuple[str, str], CallFacts] = {}
        self.background: Callable[[], Background] = Background
        """Looks at the background commands."""

    def of(self, agent: str, call_id: str) -> CallFacts:
        """The facts of a call, to be added to."""
        return self._facts.setdefault((agent, call_id), CallFacts())

    @contextmanager
    def following(self, facts: CallFacts | None) -> Iterator[None]:
        """Around a call: note whether a background command ran meanwhile, which may have changed anything."""
        if facts is None:
            yield
            return
        now = self.background()
        facts.begun = -1 if now.runs else now.begun
        try:
            yield
        finally:
            self._note_background(facts)

    def _note_background(self, facts: CallFacts) -> None:
        now = self.background()
        if now.runs or facts.begun not in (None, now.begun):
            facts.doubt = "all"

    def take(self, agent: str, answers: ModelRequest, state: SessionState) -> list[CallOutcome]:
        """The outcomes of the calls that a message answers."""
        results = (part for part in answers.parts if isinstance(part, ToolReturnPart | RetryPromptPart))
        return [self._outcome(agent, part, state) for part in results if part.tool_name]

    def _outcome(self, agent: str, part: ToolReturnPart | RetryPromptPart, state: SessionState) -> CallOutcome:
        known = self._facts.pop((agent, part.tool_call_id), None)
        facts = known or CallFacts()
        ended, call_id = _ended(part, facts), storable_text(part.tool_call_id)
        facts.is_complete |= known is None and ended != "done"  # it never ran
        if delegated := list(_delegated(state, agent, call_id)):
            facts.written, facts.is_complete = merged(delegated), all(each.is_complete for each in delegated)
            facts.doubt = max((each.doubt for each in delegated), key=_DOUBTS.index)
        elif part.tool_name in CHANGING_TOOLS:
            facts.doubt = "all" if facts.doubt == "all" else ""  # it changes nothing but what its diff names
            own = _in_diff(diff_in({"metadata": getattr(part, "metadata", None)}))
            if facts.covers is None:
                facts.written = facts.written or own
            else:
                facts.written += tuple(_uncovered(own, facts.covers, state))
        self._note_background(facts)  # also what a call left running
        return facts.outcome(call_id, ended, agent)


def _ended(part: ToolReturnPart | RetryPromptPart, facts: CallFacts) -> CallEnd:
    stage = "failed" if isinstance(part, RetryPromptPart) else stage_of(part.outcome)
    if stage in ("refused", "stopped"):
        return "refused" if stage == "refused" else "stopped"
    if facts.is_replaced:
        return "replaced by a hook"
    if facts.is_late:
        return "timed out"
    return "failed" if stage == "failed" or facts.exit_code else "done"


def _delegated(state: SessionState, agent: str, call_id: str) -> Iterable[CallOutcome]:
    """The outcomes of the calls that were made for a delegating call."""
    for name, delegation in state.delegations.items():
        if delegation.call_id == call_id and name.rpartition(DELEGATION_SEPARATOR)[0] == agent:
            own = (entry for entry in state.transcript if entry.agent == name)
            yield from (outcome for entry in own for _, outcome in entry.outcomes)


def merged(outcomes: Sequence[CallOutcome]) -> tuple[Json, ...]:
    """What several calls wrote, one entry a file: the lines of all, and what it is after the last."""
    found: dict[str, dict[str, Any]] = {}
    for each in (dict(each) for outcome in outcomes for each in outcome.written):
        before = found.pop(each["path"], {})
        for kind in ("added", "removed"):
            if kind in before and kind in each:
                each[kind] += before[kind]
        found[each["path"]] = each
    return tuple(found.values())


def _uncovered(own: Iterable[Json], covers: Callable[[str], bool], state: SessionState) -> Iterator[Json]:
    """The files of a file tool's own diff that no snapshot shows."""
    for each in own:
        path = normpath(each["path"]).removeprefix(f"{state.cwd}/")
        if not covers(path):
            known = state.files.get(path)
            now = each.get("now") if known is None else known.now if known.now in (NEW, UNSURE) else None
            others = {key: value for key, value in each.items() if key != "now"}
            yield {**others, "path": path, **({"now": now} if now else {}), "is_covered": False}


def _in_diff(text: str) -> tuple[Json, ...]:
    """The files that a file tool's own diff names."""
    if (diff := read_diff(text)) is None:
        return ()
    counts: dict[str, list[int]] = {diff.path: [0, 0]}
    path = diff.path
    for row in diff.rows:
        if row.sign == "file":
            counts[path := row.text] = [0, 0]
        elif row.sign in ("+", "-"):
            counts[path]["+-".index(row.sign)] += 1
    if len(counts) == 1:  # it may be cut: its header has the figures
        counts[diff.path] = [diff.added, diff.removed]
    return tuple(
        written_file(path, counted, NEW if diff.is_new and len(counts) == 1 else "") for path, counted in counts.items()
    )


def written_file(path: str, counts: Sequence[int] | None, now: str = "") -> Json:
    """A file in `written`."""
    lines: Mapping[str, Any] = {"added": counts[0], "removed": counts[1]} if counts is not None else {}
    return {"path": path, **lines, **({"now": now} if now else {})}
