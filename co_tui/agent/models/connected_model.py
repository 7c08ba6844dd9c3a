"""A model together with the connections to its server."""

from dataclasses import dataclass

import httpx2
from pydantic_ai.models import Model

from co_tui.agent.wire.guarded_model import GuardedModel
from co_tui.agent.wire.http import new_client


@dataclass(slots=True)
class Connected:
    """A model and the connections to its server."""

    model: Model
    client: httpx2.AsyncClient

    async def close(self) -> None:
        await self.client.aclose()


def connect_compatible(name: str, base_url: str, key: str, *, takes_images: bool = True) -> Connected:
    """To a server that speaks like OpenAI's."""
    from co_tui.agent.wire.compatible import compatible_model

    client = new_client(base_url)
    model = compatible_model(name, base_url, key, client, takes_images=takes_images)
    return Connected(GuardedModel(model), client)
