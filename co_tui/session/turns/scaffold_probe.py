"""Find out what the next request will send besides the conversation, before anything is sent."""

from contextlib import suppress
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext

from co_tui.agent.toolkit import CallGate
from co_tui.context.measure.count import Scaffold
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.turns.request_hook import scaffold_of, sendable


class _Found(Exception):
    """Ends the run before its request is sent."""


class _Probe(AbstractCapability[Any]):
    """Takes the scaffold of the first request."""

    scaffold: Scaffold | None = None

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        request_context.model_request_parameters = sendable(request_context.model_request_parameters)
        self.scaffold = scaffold_of(request_context)
        raise _Found


def _no_gate() -> CallGate:
    raise AssertionError("no call is made without a reply")


async def probe_scaffold(runtime: Runtime) -> Scaffold | None:
    """The instructions and tools of a runtime's next request; None if they cannot be had now.

    The library puts them together while it prepares a request, so one is prepared and not sent.
    """
    probe = _Probe()
    equipment = runtime.toolkit.for_turn(
        runtime.instructions, takes_tools=runtime.model_handle.takes_tools, gate=_no_gate, hook=probe
    )
    with suppress(Exception):  # it must not keep a session from switching: the first request reports what is wrong
        agent = equipment.agent(await runtime.model_handle.model(), runtime.request_settings)
        await agent.run(message_history=[ModelRequest.user_text_prompt("")])
    return probe.scaffold
