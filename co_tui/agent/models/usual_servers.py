"""Programs that serve models on this machine, and whether one listens. Imports nothing heavy."""

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

from co_tui.agent.models.catalogue import LLAMA_CPP_PORT, LM_STUDIO_PORT, OLLAMA_PORT, VLLM_PORT

OLLAMA, LM_STUDIO, LLAMA_CPP, VLLM = "Ollama", "LM Studio", "llama.cpp", "vLLM"
LOOPBACK: Final = "127.0.0.1"
CONNECT_S: Final = 10.0
"""On the same machine a port answers or refuses at once, but this process may be busy with imports."""


class UsualServer(NamedTuple):
    """A program that serves models, and its default port."""

    program: str
    port: int

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/v1"


USUAL_SERVERS: Final = (
    UsualServer(OLLAMA, OLLAMA_PORT),
    UsualServer(LM_STUDIO, LM_STUDIO_PORT),
    UsualServer(LLAMA_CPP, LLAMA_CPP_PORT),
    UsualServer(VLLM, VLLM_PORT),
)


async def listening(servers: Sequence[UsualServer]) -> list[UsualServer]:
    """The servers whose port is open. Sends nothing, and only connects to this machine."""
    found = await asyncio.gather(*(_is_open(server.port) for server in servers))
    return [server for server, is_open in zip(servers, found, strict=True) if is_open]


async def _is_open(port: int) -> bool:
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(LOOPBACK, port), CONNECT_S)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
