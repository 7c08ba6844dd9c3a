"""Capabilities that do nothing at a step are not called there; the others see it as before."""

import inspect
from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai.capabilities import AbstractCapability, CombinedCapability
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import RunContext

from co_tui.agent.acting_capabilities import HOOKS
from co_tui.agent.toolkit import Equipment

HANDLED = object()


class Noting(AbstractCapability[Any]):
    """Has a name, and notes what it is called for."""

    def __init__(self, name: str, noted: list[str], then: "Noting | None" = None) -> None:
        self.name, self.noted, self.then, self.runs = name, noted, then, 0

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        self.runs += 1
        return self.then if self.then is not None and self.runs > 1 else self

    async def before_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:
        self.noted.append(f"{self.name} before")
        return request_context

    async def wrap_run(self, ctx: RunContext[Any], *, handler: Any) -> Any:
        self.noted.append(f"{self.name} around")
        return await handler()

    async def wrap_run_event_stream(self, ctx: RunContext[Any], *, stream: Any) -> AsyncIterator[Any]:
        async for event in stream:
            self.noted.append(f"{self.name} event")
            yield event


async def test_those_that_act_are_called_in_their_order_and_others_in_the_next_run() -> None:
    async def answer(messages: Any, info: Any) -> AsyncIterator[str]:
        yield "hello"

    noted: list[str] = []
    acting = [Noting("first", noted), AbstractCapability[Any](), Noting("second", noted, Noting("third", noted))]
    agent = Equipment("", (), acting).agent(FunctionModel(stream_function=answer), {})
    for last in ("second", "third"):
        noted.clear()
        assert (await agent.run("hi")).output == "hello"
        assert list(dict.fromkeys(noted)) == [
            *("first around", f"{last} around", "first before", f"{last} before"),
            *(f"{last} event", "first event"),
        ]
        assert noted.count("first event") == noted.count(f"{last} event") > 1


async def test_what_is_left_out_returns_what_it_was_given() -> None:
    async def handler(*given: Any) -> object:
        return HANDLED

    async def stream() -> AsyncIterator[object]:
        yield HANDLED

    for name in HOOKS:
        assert getattr(CombinedCapability, name) is not getattr(AbstractCapability, name)
        hook = getattr(AbstractCapability[Any](), name)
        given = {each: object() for each in list(inspect.signature(hook).parameters)[1:]}
        if "stream" in given:
            assert [event async for event in hook(None, stream=stream())] == [HANDLED]
            continue
        given |= {"handler": handler} if "handler" in given else {}
        expected = HANDLED if "handler" in given else [*given.values()][-1] if given else None
        assert await hook(None, **given) is expected, name
