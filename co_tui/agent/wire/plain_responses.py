"""OpenAI's client for its responses API, sending requests as they are."""

from typing import Any

from openai.resources.responses import AsyncResponses


class PlainResponses(AsyncResponses):
    """Its input is not searched for names to translate, of which there are none."""

    async def create(self, *, input: Any = (), extra_body: Any = None, **rest: Any) -> Any:
        return await super().create(input=[], extra_body={**(extra_body or {}), "input": input}, **rest)
