"""Find model servers on this machine at their default ports."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from co_tui.agent.models.native_answers import native_answer
from co_tui.agent.models.served_models import list_models, name_of, window_of
from co_tui.agent.models.usual_servers import USUAL_SERVERS as USUAL_SERVERS
from co_tui.agent.models.usual_servers import VLLM
from co_tui.agent.models.usual_servers import UsualServer as UsualServer
from co_tui.agent.wire.http import NoAnswer
from co_tui.events.model_names import Served, served
from co_tui.record import Record

TIMEOUT_S: Final = 10.0
"""A local server answers at once unless it, or this machine, is busy; the screen does not wait."""
MOST_MODELS: Final = 200
MOST_INSPECTED: Final = 24
"""Each costs a request; further models are listed by name only."""


class FoundModel(Record):
    """A model that a server offers."""

    model: str
    """Its model string."""
    server: str
    """The server's name."""
    window_tokens: int | None = None
    most_tokens: int | None = None
    """Its largest window, when its server has not chosen one yet."""


async def models_at(server: UsualServer) -> list[FoundModel]:
    """The models a local server offers; none when it is not running. No key is sent."""
    try:
        entries = await list_models(server.address, "", timeout_s=TIMEOUT_S)
    except NoAnswer:
        return []
    found = _found(entries, server.program, server.address)
    inspected = await asyncio.gather(*map(_inspected, found[:MOST_INSPECTED]))
    return [*(each for each in inspected if each is not None), *found[MOST_INSPECTED:]]


async def _inspected(found: FoundModel) -> FoundModel | None:
    """The model with what its server's own API reports; None for an embedding model."""
    at = served(found.model)
    if found.window_tokens is not None or at is None or found.server == VLLM:
        return found
    answer = await native_answer(at.address, at.name, program=found.server, timeout_s=TIMEOUT_S)
    return (
        found.but(window_tokens=answer.window_tokens, most_tokens=answer.most_tokens) if answer.makes_replies else None
    )


async def models_of(base_url: str, key: str) -> list[FoundModel]:
    """The models of the configured server; none when it does not list them."""
    try:
        return _found(await list_models(base_url, key), "the configured server", "")
    except NoAnswer:
        return []


def _found(entries: list[Mapping[str, Any]], server: str, address: str) -> list[FoundModel]:
    return [
        FoundModel(model=Served(name, address).model, server=server, window_tokens=window_of(entry))
        for entry in entries[:MOST_MODELS]
        if (name := name_of(entry)) and "embed" not in name.lower()  # embedding models
    ]
