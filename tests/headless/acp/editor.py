"""An editor as the protocol's own library makes one, which records the updates it gets."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acp import spawn_agent_process
from acp.connection import StreamDirection, StreamEvent
from acp.core import ClientSideConnection, RequestError
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ClientCapabilities,
    CreateTerminalResponse,
    DeclineElicitationResponse,
    DeniedOutcome,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    FileSystemCapabilities,
    PermissionOption,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TerminalOutputResponse,
    ToolCallUpdate,
    WaitForTerminalExitResponse,
    WriteTextFileResponse,
)

from tests.headless.acp.exchange import Exchanged, check_exchange
from tests.support.command import CliCommand
from tests.support.waiting import PATIENCE_S


class RecordingEditor:
    """Chooses permission options by what `answers` says; keeps texts of its own where it has a file system."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.updates: list[Any] = []
        self.asked: list[tuple[ToolCallUpdate, list[PermissionOption]]] = []
        self.asking = asyncio.Event()
        self.texts: dict[str, str] = {}
        """Unsaved texts by path."""
        self.commands: list[str] = []
        self.forms: list[tuple[str, dict[str, Any]]] = []
        """Those it was asked to show: the message, and the schema."""
        self.filled: list[dict[str, Any] | None] = []
        """What the user enters in the next forms; None declines."""
        self.exchange: list[Exchanged] = []
        """Every message in both directions."""

    def on_connect(self, conn: Any) -> None: ...

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append((tool_call, options))
        self.asking.set()
        if not self.answers:
            await asyncio.Event().wait()  # the user never answers
        answer = self.answers.pop(0)
        outcome = AllowedOutcome(outcome="selected", option_id=answer) if answer else DeniedOutcome(outcome="cancelled")
        return RequestPermissionResponse(outcome=outcome)

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        schema = mode.requested_schema.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.forms.append((message, schema))
        content = self.filled.pop(0)
        if content is None:
            return DeclineElicitationResponse(action="decline")
        return AcceptElicitationResponse(action="accept", content=content)

    async def read_text_file(self, path: str, **_: Any) -> ReadTextFileResponse:
        if path not in self.texts:
            raise RequestError.resource_not_found(path)
        return ReadTextFileResponse(content=self.texts[path])

    async def write_text_file(self, path: str, content: str, **_: Any) -> WriteTextFileResponse:
        self.texts[path] = content
        await asyncio.to_thread(Path(path).write_text, content)
        return WriteTextFileResponse()

    async def create_terminal(self, args: list[str], **_: Any) -> CreateTerminalResponse:
        self.commands.append(args[-1])
        return CreateTerminalResponse(terminal_id=f"terminal-{len(self.commands)}")

    async def terminal_output(self, **_: Any) -> TerminalOutputResponse:
        return TerminalOutputResponse(output="said in the editor\n", truncated=False)

    async def wait_for_terminal_exit(self, **_: Any) -> WaitForTerminalExitResponse:
        return WaitForTerminalExitResponse(exit_code=0)

    async def release_terminal(self, **_: Any) -> None: ...

    async def kill_terminal(self, **_: Any) -> None: ...

    def kinds(self) -> list[str]:
        return [update.session_update for update in self.updates]

    def said(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update.content.text for update in self.updates if update.session_update == kind)

    def of(self, kind: str) -> list[Any]:
        return [update for update in self.updates if update.session_update == kind]


@asynccontextmanager
async def connected(
    command: CliCommand,
    editor: RecordingEditor,
    *arguments: str,
    fs: bool = False,
    terminal: bool = False,
    forms: bool = False,
) -> AsyncIterator[ClientSideConnection]:
    """`co-tui acp` with this editor at its other end, introduced. What they said is checked at the end."""

    def record(event: StreamEvent) -> None:
        editor.exchange.append(Exchanged(event.direction is StreamDirection.INCOMING, event.message))

    environ = dict(command.environ)
    spawned = spawn_agent_process(
        editor, sys.executable, "-m", "co_tui", "acp", *arguments, env=environ, cwd=command.cwd,  # type: ignore[arg-type]
        use_unstable_protocol=True, observers=[record],
    )  # fmt: skip
    async with asyncio.timeout(4 * PATIENCE_S), spawned as (connection, _):
        files = FileSystemCapabilities(read_text_file=fs, write_text_file=fs)
        elicitation = ElicitationCapabilities(form=ElicitationFormCapabilities()) if forms else None
        await connection.initialize(1, ClientCapabilities(fs=files, terminal=terminal, elicitation=elicitation))
        yield connection
    check_exchange(editor.exchange)
