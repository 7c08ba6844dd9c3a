"""Servers of models that run on this machine, found at the ports they usually have."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from co_tui.agent.models.catalogue import LLAMA_CPP_PORT, LM_STUDIO_PORT, OLLAMA_PORT, VLLM_PORT, Served, served
from co_tui.agent.models.native_answers import LLAMA_CPP, LM_STUDIO, OLLAMA, native_answer
from co_tui.agent.models.served_models import list_models, name_of, window_of
from co_tui.agent.wire.http import NoAnswer
from co_tui.record import Record

TIMEOUT_S: Final = 3.0
"""This machine answers at once or not at all, unless it is busy; the screen does not wait for it."""
MOST_MODELS: Final = 200
MOST_LOOKED_INTO: Final = 24
"""Each is a question of its own; of further ones only the names are told."""
VLLM: Final = "vLLM"


class UsualServer(NamedTuple):
    """A program that serves models, and where it does unless told otherwise."""

    program: str
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


USUAL_SERVERS: Final = (
    UsualServer(OLLAMA, OLLAMA_PORT),
    UsualServer(LM_STUDIO, LM_STUDIO_PORT),
    UsualServer(LLAMA_CPP, LLAMA_CPP_PORT),
    UsualServer(VLLM, VLLM_PORT),
)


class FoundModel(Record):
    """A model that a server offers."""

    model: str
    """The string that chooses it."""
    server: str
    """Who serves it, for people."""
    window_tokens: int | None = None
    most_tokens: int | None = None
    """What it was made for, when nobody knows yet what its server will give it."""


async def models_at(server: UsualServer) -> list[FoundModel]:
    """What it serves; nothing when nobody is there. It is sent no key, and never asked beyond this machine."""
    try:
        entries = await list_models(server.address, "", timeout_s=TIMEOUT_S)
    except NoAnswer:
        return []
    found = _found(entries, server.program, server.address)
    looked_into = await asyncio.gather(*map(_looked_into, found[:MOST_LOOKED_INTO]))
    return [*(each for each in looked_into if each is not None), *found[MOST_LOOKED_INTO:]]


async def _looked_into(found: FoundModel) -> FoundModel | None:
    """With what its server tells of it alone; None for one that makes no replies."""
    at = served(found.model)
    if found.window_tokens is not None or at is None or found.server == VLLM:
        return found
    told = await native_answer(at.address, at.name, program=found.server, timeout_s=TIMEOUT_S)
    return found.but(window_tokens=told.window_tokens, most_tokens=told.most_tokens) if told.makes_replies else None


async def models_of(base_url: str, key: str) -> list[FoundModel]:
    """What the configured server serves; nothing when it does not tell."""
    try:
        return _found(await list_models(base_url, key), "the configured server", "")
    except NoAnswer:
        return []


def _found(entries: list[Mapping[str, Any]], server: str, address: str) -> list[FoundModel]:
    return [
        FoundModel(model=Served(name, address).model, server=server, window_tokens=window_of(entry))
        for entry in entries[:MOST_MODELS]
        if (name := name_of(entry)) and "embed" not in name.lower()  # those make vectors, not replies
    ]
