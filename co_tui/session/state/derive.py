"""How each event changes the state of a session. Pure: nothing is called, nothing is written."""

from collections.abc import Collection, Iterable, Mapping
from functools import reduce
from typing import Any, TypeVar, assert_never

from co_tui.agent.permissions.older_answers import rules_of, rules_revoked
from co_tui.append_only import AppendOnly
from co_tui.events import (
    AgentTransfer,
    Announced,
    ApprovalDecided,
    ApprovalRequested,
    ApprovalRevoked,
    BoardChanged,
    BoardShown,
    CallOutcome,
    Clear,
    CompactionComplete,
    CompactionStart,
    CompactionUndone,
    DelegationEnd,
    DelegationStart,
    Event,
    FilesChanged,
    FilesRestored,
    FoldersChanged,
    MemoryReleased,
    Message,
    ModeChange,
    ModelChange,
    Occurrence,
    Pin,
    PlanChanged,
    PolicyChange,
    Recollection,
    Ref,
    RequestBilled,
    Rewind,
    SessionEnd,
    SessionError,
    SessionFork,
    SessionOrigin,
    SessionPinned,
    SessionRename,
    SessionResume,
    SessionStart,
    SessionTrashed,
    Surroundings,
    Truncation,
    Unknown,
    UsageInfo,
)
from co_tui.events.facts.agents import MAIN_AGENT
from co_tui.events.facts.base import Logged
from co_tui.events.facts.context import TURN
from co_tui.events.facts.conversation import Doubt
from co_tui.events.facts.files import AS_BEFORE, FOLDER, UNSURE
from co_tui.events.recorded import ChangedFile, LoggedOutcome
from co_tui.events.stored_messages import title_in
from co_tui.events.tool_wording import CUT_SHORT
from co_tui.folder_files import GENERATED
from co_tui.session.approvals.marks import is_narrow
from co_tui.session.state.history_edits import lived_through
from co_tui.session.state.released import released
from co_tui.session.state.session_state import (
    NOTHING_HELD_OUT,
    Delegation,
    Entry,
    HeldOut,
    Rewritten,
    SessionState,
    characters_in,
    replacement_entries,
    seq_of,
    surroundings_of,
)
from co_tui.session.state.top_level import top_level
from co_tui.session.workplace.host.address import host_of
from co_tui.settings.rules import ASK, CONVERSATION

T = TypeVar("T", bound=Logged)
INTERRUPTED = "interrupted"
"""The outcome of a delegation that was stopped with its turn."""
REWRITTEN = {"recollection": None, "held_out": NOTHING_HELD_OUT, "is_rewritten": True}
NOT_REWRITTEN = {**REWRITTEN, "is_rewritten": False}


def apply(state: SessionState, event: Event) -> SessionState:
    """The state after `event`. Announcements that are not logged leave it as it was."""
    fact = event.fact
    match fact:
        case MemoryReleased():
            return released(state)
        case Announced():
            return state
        case SessionStart() | SessionResume() | SessionFork():
            # A compaction that was running when the last process ended did not happen.
            state = _placed(state, fact).but(started=True, ended=False, compacting=None)
            if isinstance(fact, SessionStart) and fact.surroundings:
                began = surroundings_of(fact.surroundings)
                state = state.but(began_in=began, surroundings=began)
            return _happened(state.but(session_id=event.session_id), event)
        case SessionRename():
            return _happened(state.but(title=fact.title, summary_cost=state.summary_cost + (fact.cost or 0.0)), event)
        case SessionEnd():
            return _happened(state.but(ended=True), event)
        case Message():
            return _said(state, event, fact)
        case UsageInfo():
            return _measured(state, event, fact)
        case RequestBilled():
            return _billed(state.but(seq=seq_of(event)), fact)
        case CompactionComplete():
            return _happened(_compacted(state, event, fact), event)
        case Clear():
            return _happened(_rewritten(state, event, _left_by_clearing(state, event, fact)), event)
        case Rewind():
            rewound = _rewritten(state, event, _resolved(state, fact.history)).but(jumps=state.jumps.append(event))
            return _latest_decisions(_happened(rewound, event))
        case CompactionUndone():
            left = tuple(each for each in state.rewrites if each.seq != fact.compaction_seq)
            history, pace = _resolved(state, fact.history), state.pace.rewritten()
            undone = state.but(history=history, rewrites=left, pace=pace, **NOT_REWRITTEN)
            undone = undone.but(jumps=state.jumps.append(event))
            return _latest_decisions(_happened(_unmeasured(undone), event))
        case Pin():
            return _happened(_pinned(state, fact), event)
        case ModelChange():
            main_model = state.main_model or state.model if fact.for_agent else ""
            changed = state.but(model=fact.to, pace=state.pace.rewritten(), held_out=NOTHING_HELD_OUT)
            changed = changed.but(main_model=main_model, awaits_model=False)
            return _happened(_unmeasured(changed), event)
        case PolicyChange():
            return _happened(_unmeasured(state.but(policy=fact.to, held_out=NOTHING_HELD_OUT)), event)
        case ModeChange():
            return _happened(state.but(mode=fact.to or ASK), event)
        case FoldersChanged():
            others = (each for each in state.folders if each not in (*fact.removed, *fact.added))
            return _happened(state.but(folders=(*others, *fact.added)), event)
        case CompactionStart():
            return _happened(state if fact.agent else state.but(compacting=event), event)
        case ApprovalRequested():
            return _happened(state.but(pending=(*_others(state, fact), fact)), event)
        case ApprovalDecided():
            return _happened(_decided(state, fact), event)
        case ApprovalRevoked():
            gone = rules_revoked(fact)
            return _happened(state.but(allowed=tuple(each for each in state.allowed if each not in gone)), event)
        case DelegationStart():
            seen = AppendOnly(top_level(state.history) if fact.context == CONVERSATION else ())
            names = ("name", "task", "call_id", "context", "results")
            begun = Delegation(history=seen, **{name: getattr(fact, name) for name in names})
            return _happened(state.but(delegations={**state.delegations, fact.agent: begun}), event)
        case DelegationEnd():
            ends_early = fact.outcome in (INTERRUPTED, CUT_SHORT)
            status = fact.outcome if ends_early else "failed" if fact.error else "done"
            state = state.but(pending=tuple(each for each in state.pending if each.agent != fact.agent))
            return _happened(
                _delegated(state, fact.agent, status=status, outcome=fact.outcome, error=fact.error), event
            )
        case AgentTransfer():
            return _happened(_unmeasured(_spoken_by(state, _speaker(fact))), event)
        case PlanChanged():
            return _happened(state.but(plan=fact.steps), event)
        case Recollection():
            state = _recollected(state, fact)
            return _happened(state, event) if fact.note else state.but(seq=seq_of(event))
        case Truncation():
            return _happened(_truncated(state, fact), event)
        case Surroundings():
            return _happened(state.but(surroundings=fact), event)
        case BoardShown():
            return _happened(state.but(board=fact), event)
        case BoardChanged():
            return _happened(_paid(state, fact), event)
        case CallOutcome():
            outcomes = (*state.outcomes, LoggedOutcome(seq_of(event), fact))
            written = {path: each for each in fact.written if isinstance(path := each.get("path"), str)}
            words = {path: each.get("now") for path, each in written.items()}
            uncovered = {path for path, each in written.items() if each.get("is_covered") is False}
            state = _changed(state.but(seq=seq_of(event), outcomes=outcomes), event, words, uncovered)
            return _doubted(state, fact.doubt)
        case FilesChanged():
            return _happened(_changed(state, event, {path: fact.now.get(path) for path in fact.paths}), event)
        case FilesRestored():
            words = {path: AS_BEFORE if path in fact.as_before else fact.now.get(path) for path in fact.paths}
            state = _happened(_changed(state, event, words), event)
            is_noted = fact.paths and fact.conversation_stays
            return state.but(restores=state.restores.append(event)) if is_noted else state
        case SessionError() if fact.kind == "unusable" and not fact.agent:
            return _happened(state.but(awaits_model=False), event)
        case Occurrence() | SessionPinned() | SessionTrashed():
            return _happened(state, event)
        case Unknown():
            # From a newer version: only its position in the log counts.
            return state.but(seq=seq_of(event))
        case _:
            assert_never(fact)


def _happened(state: SessionState, event: Event) -> SessionState:
    return state.but(seq=seq_of(event), timeline=state.timeline.append(event))


def _changed(
    state: SessionState, event: Event, words: Mapping[str, Any], uncovered: Collection[str] = ()
) -> SessionState:
    """With files that changed, each with what it is now; `uncovered` are those that snapshots do not show."""
    words = {path: word for path, word in words.items() if word != FOLDER and GENERATED.isdisjoint(path.split("/"))}
    if not words:
        return state
    now = {
        path: ChangedFile(word if isinstance(word, str) else "", seq_of(event), path not in uncovered)
        for path, word in words.items()
    }
    return state.but(files={**{path: of for path, of in state.files.items() if path not in now}, **now})


def _doubted(state: SessionState, doubt: Doubt) -> SessionState:
    """With files that may have changed since without a record."""
    if not any(_is_doubted(of, doubt) for of in state.files.values()):
        return state
    files = {path: of._replace(now=UNSURE) if _is_doubted(of, doubt) else of for path, of in state.files.items()}
    return state.but(files=files)


def _is_doubted(file: ChangedFile, doubt: Doubt) -> bool:
    return doubt == "all" or (doubt == "uncovered" and not file.is_covered)


def _latest_decisions(state: SessionState) -> SessionState:
    """With the latest plan and the latest transfer that were not rewound."""
    plan, transfer = _latest(state, PlanChanged), _latest(state, AgentTransfer)
    return _spoken_by(state.but(plan=plan.steps if plan else ()), _speaker(transfer) if transfer else "")


def _latest(state: SessionState, kind: type[T]) -> T | None:
    """The latest fact of a kind that was lived through."""
    lived = lived_through(state.jumps)
    events = (event for event in reversed(state.timeline) if isinstance(event.fact, kind))
    found = next((event.fact for event in events if lived.includes(seq_of(event))), None)
    return found if isinstance(found, kind) else None


def _spoken_by(state: SessionState, speaker: str) -> SessionState:
    return state if speaker == state.speaker else state.but(speaker=speaker, awaits_model=True)


def _speaker(fact: AgentTransfer) -> str:
    return "" if fact.to == MAIN_AGENT else fact.to


def _placed(state: SessionState, place: SessionOrigin) -> SessionState:
    cwd = place.cwd or state.cwd
    moved = bool(state.cwd) and host_of(cwd) != host_of(state.cwd)
    allowed = {**state.allowed_elsewhere, state.cwd: state.allowed}
    return state.but(
        allowed=allowed.pop(cwd, ()),
        allowed_elsewhere={folder: rules for folder, rules in allowed.items() if rules},
        folders=() if moved else state.folders,
        model=place.model or state.model,
        policy=place.policy or state.policy,
        cwd=cwd,
        repository=place.repository or state.repository,
        repository_id=place.repository_id if place.repository else state.repository_id,
        branch=place.branch or state.branch,
    )


def _said(state: SessionState, event: Event, fact: Message) -> SessionState:
    own = tuple(each for each in state.outcomes if each.fact.agent == fact.agent)
    entry = Entry((seq_of(event), 0), fact.turn, fact.message, event.timestamp, fact.interrupted, fact.agent, own)
    state = state.but(seq=seq_of(event), transcript=state.transcript.append(entry))
    if own:
        state = state.but(outcomes=tuple(each for each in state.outcomes if each.fact.agent != fact.agent))
    if fact.agent:
        return _delegated(state, fact.agent, history=_delegation(state, fact.agent).history.append(entry))
    title = state.title or title_in(fact.message)
    if opens_turn := fact.turn > state.turn:
        state = _without_running(state)
    return _unmeasured(state).but(
        title=title,
        turn=max(state.turn, fact.turn),
        history=state.history.append(entry),
        timeline=state.timeline.append(event) if opens_turn else state.timeline,
    )


def _measured(state: SessionState, event: Event, fact: UsageInfo) -> SessionState:
    state = state.but(
        seq=seq_of(event),
        cost=state.cost + (fact.cost or 0.0),
        assumed_cost=state.assumed_cost + (fact.assumed_cost or 0.0),
        cached_tokens=state.cached_tokens + (fact.cached_tokens or 0),
        cache_saved=state.cache_saved + (fact.cache_saved or 0.0),
    )
    if fact.agent:
        return _delegated(state, fact.agent, usage=fact)
    if fact.learnt:
        state = state.but(learnt={**state.learnt, fact.model: fact.learnt})
    pace = state.pace.measured(
        state.turn,
        fact.current_tokens,
        fact.messages_count,
        fact.current_tokens - fact.conversation_tokens,
        is_reply=fact.output_tokens is not None,
    )
    return state.but(usage=fact, usage_holds=True, pace=pace)


def _billed(state: SessionState, bill: RequestBilled) -> SessionState:
    column = "cost" if bill.what == TURN else "summary_cost"
    state = state.but(assumed_cost=state.assumed_cost + (bill.assumed_cost or 0.0))
    state = state.but(**{column: getattr(state, column) + (bill.cost or 0.0)})
    if bill.what != TURN:
        return state
    if bill.agent:
        return _delegated(state, bill.agent, spent=_delegation(state, bill.agent).spent.plus(bill))
    return state.but(billed=bill)


def _paid(state: SessionState, fact: CompactionComplete | BoardChanged) -> SessionState:
    """Older logs have the cost of what is not billed."""
    return state if fact.billed else state.but(summary_cost=state.summary_cost + (fact.cost or 0.0))


def _unmeasured(state: SessionState) -> SessionState:
    """Mark the last measurement as outdated."""
    return state.but(usage_holds=False) if state.usage_holds else state


def _compacted(state: SessionState, event: Event, fact: CompactionComplete) -> SessionState:
    state = _paid(state, fact)
    if fact.agent:
        left = _replaced(_delegation(state, fact.agent).history, event, fact)
        return state if left is None else _delegated(state, fact.agent, history=left, **REWRITTEN)
    state = state.but(compacting=None)
    left = _replaced(state.history, event, fact)
    if left is None:
        return state
    pace = state.pace.rewritten(is_compaction=True)
    bridge = state.rewrites[-1] if state.rewrites else None
    if fact.supersedes and bridge is not None and bridge.seq == fact.supersedes:
        known = {entry.ref for entry in bridge.after}
        before = AppendOnly([*bridge.before, *(entry for entry in state.history if entry.ref not in known)])
        state = state.but(rewrites=state.rewrites[:-1])
        state = _rewritten(state, event, left)
        both = state.rewrites[-1]._replace(before=before, removed=(*bridge.removed, *state.rewrites[-1].removed))
        state = state.but(rewrites=(*state.rewrites[:-1], both))
        return state.but(compactions=state.compactions.append(event), pace=pace, **REWRITTEN)
    return _rewritten(state, event, left).but(compactions=state.compactions.append(event), pace=pace, **REWRITTEN)


def _replaced(history: AppendOnly[Entry], event: Event, fact: CompactionComplete) -> AppendOnly[Entry] | None:
    """The history after a compaction; None if it changed nothing, as a provider's own."""
    replaced = set(fact.replaced) if fact.success else set()
    result: list[Entry] = []
    placed = False
    for entry in history if replaced else ():
        if entry.ref not in replaced:
            result.append(entry)
        elif not placed:
            result.extend(replacement_entries(event))
            placed = True
    return AppendOnly(result) if placed else None


def _rewritten(state: SessionState, event: Event, history: AppendOnly[Entry]) -> SessionState:
    standing = {entry.ref for entry in history}
    removed = [entry for entry in state.history if entry.ref not in standing]
    refs = tuple(entry.ref for entry in removed)
    kept = Rewritten(event, state.history, history, removed_chars=characters_in(removed), removed=refs)
    # A prompt with a note may have left the history, so the change is noted again.
    state = _unmeasured(state).but(surroundings=state.began_in)
    return state.but(history=history, rewrites=(*state.rewrites, kept), pace=state.pace.rewritten(), **NOT_REWRITTEN)


def _left_by_clearing(state: SessionState, event: Event, fact: Clear) -> AppendOnly[Entry]:
    kept = list(_resolved(state, fact.history))
    kept[fact.carried_at : fact.carried_at] = replacement_entries(event)
    return AppendOnly(kept)


def _truncated(state: SessionState, fact: Truncation) -> SessionState:
    """The history is unchanged; the next requests leave out the same messages."""
    before = _delegation(state, fact.agent).held_out if fact.agent else state.held_out
    upto = fact.clipped_upto[0] if fact.clipped_upto else None
    held_out = HeldOut(before.left_out | set(fact.left_out), fact.clipped_chars, upto)
    return _delegated(state, fact.agent, held_out=held_out) if fact.agent else _unmeasured(state.but(held_out=held_out))


def _recollected(state: SessionState, fact: Recollection) -> SessionState:
    """A search without a result keeps the earlier recollection, and is not repeated."""
    changes: dict[str, Any] = {"is_rewritten": False, **({"recollection": fact} if fact.note else {})}
    if fact.agent:
        return _delegated(state, fact.agent, **changes)
    state = state.but(**changes)
    return _unmeasured(state) if fact.note else state


def _pinned(state: SessionState, fact: Pin) -> SessionState:
    pins = state.pins | set(fact.messages) if fact.pinned else state.pins - set(fact.messages)
    history = _resolved(state, fact.history) if fact.history else state.history
    if fact.history:
        known = set(fact.history)  # what was logged while the pin was being logged stays
        history = history.extend([entry for entry in state.history if entry.ref not in known])
    return _unmeasured(state.but(pins=pins, held_out=NOTHING_HELD_OUT, history=history))


def _resolved(state: SessionState, refs: Iterable[Ref]) -> AppendOnly[Entry]:
    found = (state.entry(ref) for ref in refs)
    return AppendOnly(entry for entry in found if entry is not None and not entry.agent)


def _decided(state: SessionState, fact: ApprovalDecided) -> SessionState:
    asked = next((each for each in state.pending if (each.call_id, each.agent) == (fact.call_id, fact.agent)), None)
    rules = tuple(filter(is_narrow, rules_of(asked.tool, fact) if asked is not None else ()))
    state = state.but(pending=_others(state, fact))
    if rules and (folder := fact.folder or state.cwd) != state.cwd:
        there = dict.fromkeys((*state.allowed_elsewhere.get(folder, ()), *rules))
        return state.but(allowed_elsewhere={**state.allowed_elsewhere, folder: tuple(there)})
    return state.but(allowed=tuple(dict.fromkeys((*state.allowed, *rules))))


def _others(state: SessionState, fact: ApprovalRequested | ApprovalDecided) -> tuple[ApprovalRequested, ...]:
    """The pending questions except one call's."""
    return tuple(each for each in state.pending if (each.call_id, each.agent) != (fact.call_id, fact.agent))


def _delegation(state: SessionState, agent: str) -> Delegation:
    return state.delegations.get(agent) or Delegation()


def _delegated(state: SessionState, agent: str, **changes: Any) -> SessionState:
    """The state with one delegation changed."""
    return state.but(delegations={**state.delegations, agent: _delegation(state, agent).but(**changes)})


def _without_running(state: SessionState) -> SessionState:
    """End running delegations and their questions with their turn; older logs do not always record that."""
    state = state.but(pending=tuple(each for each in state.pending if not each.agent))
    running = [agent for agent, each in state.delegations.items() if each.status == "running"]
    for agent in running:
        state = _delegated(state, agent, status="interrupted")
    return state


def replay(events: Iterable[Event], since: SessionState | None = None) -> SessionState:
    """Fold the events into a state; no model is called, nothing is written."""
    return reduce(apply, events, since or SessionState())
