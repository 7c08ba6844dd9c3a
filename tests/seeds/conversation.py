"""A scripted conversation under a policy: what its provider got, and what its log holds."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest import mock

from co_tui.events import CompactionComplete, Event, Fact
from co_tui.session.session import Session
from tests.session.compaction.test_policies import under
from tests.support.command import CliCommand, Result
from tests.support.fixtures import provider_environ
from tests.support.here import Here
from tests.support.loaded import LoadedProcesses
from tests.support.provider import Provider
from tests.support.stores import stored_events
from tests.support.talks import GOOD, LONG, MODEL, served_environment

Said = Callable[["Conversation", Session], Awaitable[None]]


class Conversation:
    """Had once for many checks."""

    def __init__(self, root: Path, policy: str, provider: Provider, **changes: Any) -> None:
        self.home, self.folder = root / "home", root / "project"
        self.folder.mkdir()
        self.provider, self.policy, self.changes = provider, policy, changes
        provider.default, provider.summary, provider.window = LONG, GOOD, 100_000
        self.session_id = ""
        self.notes: dict[str, Any] = {}
        """What the script wants to be checked later."""

    def have(self, script: Said, **more: Any) -> "Conversation":
        """Run a script in the session, which is resumed from the log if there is one already."""
        asyncio.run(self._have(script, more))
        return self

    async def _have(self, script: Said, more: dict[str, Any]) -> None:
        settings = under(self.policy, **self.changes | {key: more[key] for key in more if key != "tools"})
        environment = served_environment(self.home, self.provider, tools=more.get("tools"), **settings)
        session = await (
            Session.resume(environment, self.session_id) if self.session_id else Session.start(environment, MODEL)
        )
        self.session_id = session.id
        try:
            await script(self, session)
        finally:
            if not session.state.ended:
                await session.close()
            environment.store.close()
        self.__dict__.pop("events", None)

    @property
    def requests(self) -> list[list[dict[str, Any]]]:
        """The messages of each request, as sent, without the system messages."""
        return [conversation_of(request) for request in self.provider.requests]

    @cached_property
    def events(self) -> list[Event]:
        return stored_events(self.home, self.session_id)

    def facts(self, kind: type[Fact]) -> list[Any]:
        return [event.fact for event in self.events if isinstance(event.fact, kind)]

    @property
    def compactions(self) -> list[CompactionComplete]:
        return self.facts(CompactionComplete)

    @property
    def environ(self) -> dict[str, str]:
        return {**provider_environ(self.provider), "CO_TUI_HOME": str(self.home), "CO_TUI_POLICY": self.policy}

    def command(self, *arguments: str, **environ: str) -> Result:
        """`co-tui` in this process."""
        with _in(self.folder), mock.patch.dict(os.environ, self.environ | environ):
            return Here(self.home, self.folder)(*arguments)

    def in_new_process(self, loaded: LoadedProcesses, *arguments: str, **environ: str) -> Result:
        """`co-tui` in a process of its own."""
        command = CliCommand(self.home, self.folder, loaded)
        command.environ.update(self.environ | environ)
        return command(*arguments)


@contextmanager
def _in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def conversing(root: Path, policy: str, **changes: Any) -> Iterator[Conversation]:
    """A provider, and a conversation with it that has not begun."""
    with Provider().serving() as provider:
        yield Conversation(root, policy, provider, **changes)
    assert not provider.broken_rules, "a request broke the rules of its wire"


def roles(messages: Sequence[dict[str, Any]]) -> list[str]:
    return [message["role"] for message in messages]


def text(messages: object) -> str:
    return json.dumps(messages, ensure_ascii=False)


def results(messages: Sequence[dict[str, Any]]) -> list[str]:
    """The tool results of a request."""
    return [message["content"] for message in messages if message["role"] == "tool"]


def conversation_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [message for message in request["messages"] if message["role"] != "system"]
