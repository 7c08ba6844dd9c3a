"""The calls of one reply take effect in the order given, as if made one by one (T12)."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDenied

from co_tui.agent.permissions.verdict import Verdict
from co_tui.agent.tool_names import DELEGATE_TOOL, PARALLEL_READS
from co_tui.agent.toolkit import AskedCall, HookedCall
from co_tui.events.refusals import refused_by_hook
from co_tui.events.storable import storable, storable_text
from co_tui.session.approvals.asking import Approvals, Batch
from co_tui.session.approvals.permissions import Permissions
from co_tui.session.approvals.questions import BatchedCall
from co_tui.session.hooks.call_hooks import TURN_ENDED
from co_tui.session.hooks.session_hooks import SessionHooks
from co_tui.session.turns.run_log import RunLog
from co_tui.session.turns.streaming import Streaming
from co_tui.session.turns.unfinished import left_delegation
from co_tui.settings.rules import PRESENT_PLAN

NEEDS_OWN_CALL: Final = "it is not allowed without asking the user, which a call of your own does"


class _Place:
    """A call's place in the order."""

    def __init__(self, call: ToolCallPart) -> None:
        self.call = call
        self.begun = False
        self.decided = asyncio.Event()
        self.done = asyncio.Event()

    def runs_with(self, other: "_Place") -> bool:
        """Whether both may run at the same time: reads may, and delegations given together."""
        tools = {self.call.tool_name, other.call.tool_name}
        return tools <= PARALLEL_READS or tools == {DELEGATE_TOOL}


class CallOrder:
    """Decides calls one after the other, and runs those together that cannot affect each other."""

    def __init__(self, calls: Sequence[ToolCallPart] = ()) -> None:
        self._places = [_Place(call) for call in calls]

    async def wait_for_turn(self, call_id: str) -> ToolCallPart | None:
        """Returns the call when those before it are decided, and have ended unless they may run with it."""
        place = next((each for each in self._of(call_id) if not each.begun), None)
        if place is None:  # not a call of the reply
            return None
        place.begun = True
        for earlier in self._places[: self._places.index(place)]:
            await (earlier.decided if earlier.runs_with(place) else earlier.done).wait()
        return place.call

    def decided(self, call_id: str) -> None:
        for place in self._of(call_id):
            if place.begun:
                place.decided.set()

    def done(self, call_id: str) -> None:
        """A result arrived; also for a call whose turn never came, such as one with invalid arguments."""
        place = next((each for each in self._of(call_id) if not each.done.is_set()), None)
        if place is not None:
            place.begun = True
            place.decided.set()
            place.done.set()

    def written(self, call_id: str) -> ToolCallPart | None:
        """The call being decided or run, as the model wrote it."""
        places = (each for each in self._of(call_id) if each.begun and not each.done.is_set())
        return next((each.call for each in places), None)

    @property
    def waiting(self) -> list[ToolCallPart]:
        """The calls behind the one being decided."""
        current_and_later = [place.call for place in self._places if not place.decided.is_set()]
        return current_and_later[1:]

    def _of(self, call_id: str) -> Iterator[_Place]:
        """Providers may give several calls of a reply the same id."""
        return (each for each in self._places if each.call.tool_call_id == call_id)


class ReplyCalls:
    """The gate for the calls of a run, one reply after the other."""

    def __init__(
        self,
        agent: str,
        live: Streaming,
        log: RunLog,
        approvals: Approvals,
        permissions: Permissions,
        hooks: SessionHooks,
    ) -> None:
        self._agent, self._live, self._log = agent, live, log
        self._approvals, self._permissions, self._hooks = approvals, permissions, hooks
        self.begin(())

    def begin(self, calls: Sequence[ToolCallPart]) -> None:
        """The calls of the next reply, in their order."""
        self._order = CallOrder(calls)
        self._asked = 0
        self._approvals.begin_reply()
        self._judged: tuple[object, dict[str, Verdict]] = (None, {})
        """The calls that will be asked about, and the rules and the mode by which they were judged."""

    def done(self, call_id: str) -> None:
        """A result arrived."""
        self._order.done(call_id)

    async def wait_for_turn(self, call_id: str) -> None:
        """The results of earlier calls are logged first, so that none of them is lost if this one is killed."""
        call = await self._order.wait_for_turn(call_id)
        await self._log.keep_results()
        if call is not None:
            self._live.started(call)

    def decided(self, call_id: str) -> None:
        self._order.decided(call_id)

    def asked_before(self, call_id: str) -> HookedCall | None:
        return self._approvals.asked_before(call_id)

    async def approve(self, asked: AskedCall) -> ToolDenied | None:
        if (written := self._order.written(asked.call_id)) is None:
            return await self._denied_without_asking(asked)
        if asked.hooked.arguments is None:
            asked = asked._replace(arguments=_arguments(written))
        denied = await self._approvals.ask(asked, self._batch)
        if denied is None and self._hooks.has_stopped:
            return ToolDenied(refused_by_hook(TURN_ENDED))
        return denied

    async def _denied_without_asking(self, asked: AskedCall) -> ToolDenied:
        """For a call that no reply has: its question could not be resumed."""
        if asked.hooked.decision == "deny":
            return ToolDenied(refused_by_hook(asked.hooked.reason))
        verdict = await self._permissions.verdict(asked.tool, asked.arguments)
        return ToolDenied(verdict.reason if verdict.action == "refuse" else NEEDS_OWN_CALL)

    def begun_before(self, call_id: str) -> Mapping[str, str] | None:
        state = self._permissions.state
        name = left_delegation(state, self._agent, storable_text(call_id))
        if name is None:
            return None
        return {"agent_name": state.delegations[name].name, "task": state.delegations[name].task}

    async def _batch(self) -> Batch:
        """The calls behind this one that would be asked about; judged again only if an answer changed what is
        allowed."""
        self._asked += 1
        waiting, key = self._order.waiting, (self._permissions.mode, len(self._permissions.state.allowed))
        if self._judged[0] != key:
            judged = [(call, await self._permissions.verdict(call.tool_name, _arguments(call))) for call in waiting]
            self._judged = key, {call.tool_call_id: each for call, each in judged if each.action == "ask"}
        asked = [(_batched(call), each) for call in waiting if (each := self._judged[1].get(call.tool_call_id))]
        behind = [(call, each) for call, each in asked if call not in self._approvals.rest]
        rest = tuple(call for call, each in behind if each.is_plain_question and call.tool != PRESENT_PLAN)
        return Batch(self._asked, self._asked + len(behind), rest)


def _batched(call: ToolCallPart) -> BatchedCall:
    arguments = storable(_arguments(call))
    return BatchedCall(
        call_id=storable_text(call.tool_call_id), tool=storable_text(call.tool_name), arguments=arguments
    )


def _arguments(call: ToolCallPart) -> dict[str, Any]:
    try:
        return call.args_as_dict()
    except ValueError:  # the tool rejects them
        return {}
