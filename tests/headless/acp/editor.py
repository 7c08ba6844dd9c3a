"""An editor as the protocol's own library makes one, which records the updates it gets."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

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
from tests.support.loaded import LoadedProcess
from tests.support.waiting import PATIENCE_S

UNHURRIED = dict.fromkeys(
    ("co_tui.headless.acp.acp_command.FLUSH_S", "co_tui.headless.acp.message_lines.FLUSH_S"), PATIENCE_S
)
"""On a loaded machine an answer takes longer than a user would wait for it."""


def start_acp(command: CliCommand, *arguments: str) -> tuple[LoadedProcess, int, int]:
    """`co-tui acp`, and the pipes that an editor writes to and reads from."""
    given, writing = os.pipe()
    reading, taken = os.pipe()
    process = command.fork((given, taken, None), "acp", *arguments, constants=UNHURRIED)
    os.close(given)
    os.close(taken)
    return process, writing, reading


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

    process, writing, reading = start_acp(command, *arguments)
    async with asyncio.timeout(4 * PATIENCE_S):
        writer, reader = await _streams(writing, reading)
        connection = ClientSideConnection(
            editor,
            writer,
            reader,
            use_unstable_protocol=True,
            observers=[record],  # type: ignore[arg-type]
        )
        try:
            files = FileSystemCapabilities(read_text_file=fs, write_text_file=fs)
            elicitation = ElicitationCapabilities(form=ElicitationFormCapabilities()) if forms else None
            await connection.initialize(1, ClientCapabilities(fs=files, terminal=terminal, elicitation=elicitation))
            yield connection
        finally:
            await connection.close()
            writer.close()
            _, errors = await asyncio.to_thread(process.communicate, PATIENCE_S)
    assert (process.returncode, errors) == (0, "")
    check_exchange(editor.exchange)


async def _streams(writing: int, reading: int) -> tuple[asyncio.StreamWriter, asyncio.StreamReader]:
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb", 0))
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(writing, "wb", 0)
    )
    return asyncio.StreamWriter(transport, protocol, None, loop), reader
