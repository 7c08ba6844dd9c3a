"""What a process left unfinished when it ended: what still waits for an answer, and what is closed as interrupted.

A tool never runs twice. A call with an open question has not run, and is asked about again. Any other open call may
have run before its result was logged, so it is closed.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

from co_tui.agent.model_messages import read_messages
from co_tui.context.conversation_text import tool_results
from co_tui.context.request.repair import last_step, open_calls
from co_tui.events import (
    DELEGATION_SEPARATOR,
    AgentTransfer,
    ApprovalDecided,
    DelegationEnd,
    DelegationStart,
    Fact,
    Message,
    SessionInterrupted,
)
from co_tui.events.facts.agents import MAIN_AGENT
from co_tui.events.stored_messages import pieces
from co_tui.events.tool_wording import piece_line
from co_tui.session.approvals.asking import not_answered, refused, withdrawn
from co_tui.session.state.derive import INTERRUPTED
from co_tui.session.state.parsed_messages import message_json
from co_tui.session.state.released import opened
from co_tui.session.state.session_state import Delegation, Entry, SessionState, seq_of
from co_tui.session.turns.run_log import closing

CUT_OFF: Final = "the turn was cut off"
MARKED: Final = "unfinished calls are marked as interrupted"
REPORT_CHARS: Final = 12_000
"""Of the work of a delegate that a limit stopped, in its report."""
RESULT_CHARS: Final = 2_000


def waiting_calls(state: SessionState, agent: str = "") -> frozenset[str]:
    """The open calls of an agent that can still be answered: those with a question, those that delegate to an agent
    that has one, and those behind them, which have not begun."""
    asked = {each.call_id for each in state.pending if each.agent == agent}
    asked |= {each.call_id for name, each in _running(state) if _asked_by(name) == agent and waiting_calls(state, name)}
    if not asked:
        return frozenset()
    calls = [call.tool_call_id for call in open_calls(_last_step(state, agent))]
    first = next((number for number, call in enumerate(calls) if call in asked), None)
    if first is None:
        return frozenset()
    begun = {call_id for call_id, _ in _delegations_begun(state, agent)}
    begun |= {fact.call_id for fact in _decisions(state, agent)}
    return frozenset(call for call in calls[first:] if call in asked or call not in begun)


def made_waiting_calls(state: SessionState) -> str:
    """The agent of a file that made the waiting calls of the conversation; empty for the main agent."""
    transfers = [fact for fact in _since_last_reply(state, "") if isinstance(fact, AgentTransfer)]
    made = transfers[-1].from_ if transfers else state.speaker
    return "" if made == MAIN_AGENT else made


def left_delegation(state: SessionState, asking: str, call_id: str) -> str | None:
    """The unfinished delegation that a call of the agent `asking` started."""
    names = (name for name, each in _running(state) if (_asked_by(name), each.call_id) == (asking, call_id))
    return next(names, None)


def recovered(state: SessionState) -> tuple[Fact, ...]:
    """What to log when a session is opened again: what was cut off is closed, and what waits stays open."""
    waiting = ["", *_waiting_delegations(state)]
    closed = [_closed(state, agent, staying=waiting_calls(state, agent)) for agent in waiting]
    facts = [*_ended(state, [name for name, _ in _running(state) if name not in waiting], CUT_OFF), *_found(closed)]
    last = state.timeline[-1].fact if state.timeline else None
    if facts and not isinstance(last, SessionInterrupted):  # a reply that was cut short is reported already
        facts.append(SessionInterrupted(what=CUT_OFF, where=f"turn {state.turn}", outcome=MARKED))
    return tuple(facts)


def abandoned(state: SessionState, reason: str, why: str) -> tuple[Fact, ...]:
    """What to log when no answer will come: no question stays open, and no delegation.

    The model gets the `reason` in place of an answer; `why` says how the delegations ended.
    """
    mine = [each for each in state.pending if not each.agent]
    delegations = abandoned_delegations(state, why)
    closed = _closed(state, "", not_answered(mine)) if mine or delegations else None
    return (*delegations, *withdrawn(mine, reason), *_found([closed]))


def abandoned_delegations(state: SessionState, why: str) -> tuple[Fact, ...]:
    """The same for the delegations alone."""
    return tuple(_ended(state, [name for name, _ in _running(state)], why))


def replies_in(state: SessionState, turn: int) -> int:
    """How many replies a turn has so far, those of its delegations included."""
    latest = takewhile(lambda entry: entry.turn >= turn, reversed(state.transcript))
    return sum(entry.turn == turn and entry.message.get("kind") == "response" for entry in latest)


def unfinished_report(state: SessionState, agent: str) -> str:
    """What a delegate returns that a limit or the user stopped: why, and its latest texts, calls and results."""
    work = _latest(_work_newest_first(state, agent))
    did = f"What it did so far:\n{work}" if work else "It did nothing yet."
    return f"{agent} has not finished its task. {state.delegations[agent].error}\n{did}"


def full_report(state: SessionState, agent: str, report: str) -> str:
    """What a delegate's call returns: its report, and its latest tool calls with their results if they belong to it."""
    delegation = state.delegations[agent]
    if not delegation.results:
        return report
    own = read_messages([opened(entry.message) for entry in _own_entries(state, agent)])
    work = _latest(reversed(tool_results(own, RESULT_CHARS)), "\n\n")
    return f"{report}\n\nIts tool calls and results:\n\n{work}" if work else report


def _latest(newest_first: Iterable[str], between: str = "\n") -> str:
    """As many of the newest texts as fit, in their order."""
    shown: list[str] = []
    room_chars = REPORT_CHARS
    for text in newest_first:
        if len(text) > room_chars:
            shown.append("…")
            break
        shown.append(text)
        room_chars -= len(text)
    return between.join(reversed(shown))


def _work_newest_first(state: SessionState, agent: str) -> Iterator[str]:
    """A delegate's texts, calls and results; summaries where its work was compacted."""
    for entry in reversed(_own_entries(state, agent)):
        for role, text, part in reversed(list(pieces(opened(entry.message)))):
            if role == "tool_result":
                yield f"  {_clipped(text.strip(), RESULT_CHARS)}"
            elif role == "tool_call":
                yield f"- {piece_line(role, text, part)}"
            elif role != "thinking" and text.strip():
                yield _clipped(text.strip(), REPORT_CHARS // 2)


def _own_entries(state: SessionState, agent: str) -> list[Entry]:
    """A delegate's history after its task and what it was given."""
    task = next((entry.ref for entry in state.transcript if entry.agent == agent), None)
    return [entry for entry in state.delegations[agent].history if task is not None and entry.ref > task]


def _clipped(text: str, most_chars: int) -> str:
    return text if len(text) <= most_chars else f"{text[:most_chars]}…"


def _ended(state: SessionState, names: Collection[str], why: str) -> Iterator[Fact]:
    """The end of delegations, the innermost first."""
    for name in sorted(names, key=lambda name: name.count(DELEGATION_SEPARATOR), reverse=True):
        yield from withdrawn([each for each in state.pending if each.agent == name], why)
        yield from _found([_closed(state, name)])
        spent = state.delegations[name].spent
        yield DelegationEnd(agent=name, outcome=INTERRUPTED, error=why, usage=spent.usage, cost=spent.cost)


def _closed(
    state: SessionState, agent: str, answers: Sequence[ToolReturnPart] = (), staying: Collection[str] = ()
) -> Message | None:
    """The message that answers an agent's open calls: with known results, else as interrupted."""
    step = _last_step(state, agent)
    calls = [call for call in open_calls(step) if call.tool_call_id not in staying]
    if not calls:
        return None
    known = [*answers, *_known_answers(state, agent, calls)]
    request = closing(step, [ModelRequest(parts=known)] if known else [], staying)
    return None if request is None else Message(turn=state.turn, agent=agent, message=message_json(request))


def _known_answers(state: SessionState, agent: str, calls: Sequence[ToolCallPart]) -> Iterator[ToolReturnPart]:
    """Answers whose content is logged, although their tool return is not."""
    refusals = {fact.call_id: fact for fact in _decisions(state, agent) if not fact.approved}
    delegations = dict(_delegations_begun(state, agent))
    for call in calls:
        name = delegations.get(call.tool_call_id, "")
        if (refusal := refusals.get(call.tool_call_id)) is not None:
            yield refused(refusal, call.tool_name)
        elif name and (report := _report(state, name, ended := state.delegations[name])) is not None:
            outcome: Any = "failed" if ended.status == "failed" else "success"
            yield ToolReturnPart(call.tool_name, report, tool_call_id=call.tool_call_id, outcome=outcome)


def _decisions(state: SessionState, agent: str) -> list[ApprovalDecided]:
    """About the calls of an agent's last reply."""
    since = _since_last_reply(state, agent)
    return [fact for fact in since if isinstance(fact, ApprovalDecided) and fact.agent == agent]


def _delegations_begun(state: SessionState, agent: str) -> Iterator[tuple[str, str]]:
    """The calls of an agent's last reply that began to delegate, and the names of their delegations."""
    for fact in _since_last_reply(state, agent):  # call ids are reused: earlier ones mean other calls
        if isinstance(fact, DelegationStart) and _asked_by(fact.agent) == agent:
            yield fact.call_id, fact.agent


def _since_last_reply(state: SessionState, agent: str) -> list[Fact]:
    since = _last_entries(state, agent)[0].seq
    return [event.fact for event in takewhile(lambda event: seq_of(event) > since, reversed(state.timeline))]


def _report(state: SessionState, name: str, ended: Delegation) -> str | None:
    """The result that the asking agent would have got."""
    if ended.status == "stopped":
        return unfinished_report(state, name)
    if ended.status == "failed":
        return f"{name} failed: {ended.error}"
    last = ended.history[-1] if ended.history else None
    if ended.status != "done" or last is None or last.agent != name:
        return None
    (reply,) = read_messages([opened(last.message)])
    return full_report(state, name, reply.text or "") if isinstance(reply, ModelResponse) else None


def _running(state: SessionState) -> list[tuple[str, Delegation]]:
    return [(name, each) for name, each in state.delegations.items() if each.status == "running"]


def _waiting_delegations(state: SessionState, asking: str = "") -> Iterator[str]:
    """Delegations with a question at the end of an unbroken chain of open calls."""
    calls = waiting_calls(state, asking)
    for name, each in _running(state):
        if _asked_by(name) == asking and each.call_id in calls and waiting_calls(state, name):
            yield name
            yield from _waiting_delegations(state, name)


def _asked_by(name: str) -> str:
    """The delegation that asked for this one; empty for the main agent."""
    return name.rpartition(DELEGATION_SEPARATOR)[0]


def _last_step(state: SessionState, agent: str) -> Sequence[ModelMessage]:
    return last_step(read_messages([opened(entry.message) for entry in _last_entries(state, agent)]))


def _last_entries(state: SessionState, agent: str) -> list[Entry]:
    """The entries from an agent's last reply on. A delegate's history starts with messages that are not its own."""
    history = state.delegations[agent].history if agent else state.history
    found: list[Entry] = []
    for entry in reversed(history):
        if entry.agent != agent:
            break
        found.append(entry)
        if entry.message.get("kind") == "response":
            return found[::-1]
    return []


def _found(messages: Sequence[Message | None]) -> list[Message]:
    return [each for each in messages if each is not None]
