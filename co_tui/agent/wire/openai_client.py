"""OpenAI's own client, but for one thing: what was said goes out as it is.

The library looks through all of it for names to translate, of which there are none, and holds up the loop for a third
of a second with a thousand messages.
"""

from functools import cached_property
from typing import Any

from openai import AsyncOpenAI
from openai.resources.chat import AsyncChat
from openai.resources.chat.completions import AsyncCompletions
from openai.resources.responses import AsyncResponses


class OpenAIClient(AsyncOpenAI):
    """A class of its own: each request goes through a copy of the client, which is made from its class."""

    @cached_property
    def chat(self) -> AsyncChat:
        return _Chat(self)

    @cached_property
    def responses(self) -> AsyncResponses:
        return _Responses(self)


class _Chat(AsyncChat):
    @cached_property
    def completions(self) -> AsyncCompletions:
        return _Completions(self._client)


class _Completions(AsyncCompletions):
    async def create(self, *, messages: Any, extra_body: Any = None, **rest: Any) -> Any:
        return await super().create(messages=[], extra_body={**(extra_body or {}), "messages": messages}, **rest)


class _Responses(AsyncResponses):
    async def create(self, *, input: Any = (), extra_body: Any = None, **rest: Any) -> Any:
        return await super().create(input=[], extra_body={**(extra_body or {}), "input": input}, **rest)
