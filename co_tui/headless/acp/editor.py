"""The editor at the other end: send it updates, ask it questions, and use what it offers."""

from typing import Any, TypeAlias

from acp.core import Connection
from acp.meta import CLIENT_METHODS
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ClientCapabilities,
    ConfigOptionUpdate,
    CreateTerminalRequest,
    CreateTerminalResponse,
    CurrentModeUpdate,
    KillTerminalRequest,
    PermissionOption,
    ReadTextFileRequest,
    ReadTextFileResponse,
    ReleaseTerminalRequest,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SessionInfoUpdate,
    SessionNotification,
    TerminalOutputRequest,
    TerminalOutputResponse,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    UsageUpdate,
    UserMessageChunk,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
    WriteTextFileRequest,
)
from acp.utils import notify_model, request_model, serialize_params

Update: TypeAlias = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStart
    | ToolCallProgress
    | AgentPlanUpdate
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
)
"""An update about a session."""


class Editor:
    """The client of the protocol. Its calls raise `RequestError` or `ConnectionError`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.offers = ClientCapabilities()
        """Known once the editor has introduced itself."""

    @property
    def reads_files(self) -> bool:
        return bool(self.offers.fs and self.offers.fs.read_text_file)

    @property
    def writes_files(self) -> bool:
        return bool(self.offers.fs and self.offers.fs.write_text_file)

    @property
    def has_terminals(self) -> bool:
        return bool(self.offers.terminal)

    async def update(self, session_id: str, update: Update) -> None:
        sent = SessionNotification(session_id=session_id, update=update)
        await notify_model(self._connection, CLIENT_METHODS["session_update"], sent)

    async def ask_permission(
        self, session_id: str, call: ToolCallUpdate, options: list[PermissionOption]
    ) -> RequestPermissionResponse:
        asked = RequestPermissionRequest(session_id=session_id, tool_call=call, options=options)
        method = CLIENT_METHODS["session_request_permission"]
        return await request_model(self._connection, method, asked, RequestPermissionResponse)

    async def read_file(self, session_id: str, path: str) -> str:
        """A text as the editor has it, saved or not."""
        asked = ReadTextFileRequest(session_id=session_id, path=path)
        method = CLIENT_METHODS["fs_read_text_file"]
        return (await request_model(self._connection, method, asked, ReadTextFileResponse)).content

    async def write_file(self, session_id: str, path: str, content: str) -> None:
        asked = WriteTextFileRequest(session_id=session_id, path=path, content=content)
        await self._request("fs_write_text_file", serialize_params(asked) | {"content": content})

    async def create_terminal(self, asked: CreateTerminalRequest) -> str:
        """Run a command in a terminal of the editor; returns the terminal's id."""
        method = CLIENT_METHODS["terminal_create"]
        return (await request_model(self._connection, method, asked, CreateTerminalResponse)).terminal_id

    async def terminal_output(self, session_id: str, terminal: str) -> TerminalOutputResponse:
        asked = TerminalOutputRequest(session_id=session_id, terminal_id=terminal)
        return await request_model(self._connection, CLIENT_METHODS["terminal_output"], asked, TerminalOutputResponse)

    async def terminal_exit(self, session_id: str, terminal: str) -> WaitForTerminalExitResponse:
        asked = WaitForTerminalExitRequest(session_id=session_id, terminal_id=terminal)
        method = CLIENT_METHODS["terminal_wait_for_exit"]
        return await request_model(self._connection, method, asked, WaitForTerminalExitResponse)

    async def kill_terminal(self, session_id: str, terminal: str) -> None:
        asked = KillTerminalRequest(session_id=session_id, terminal_id=terminal)
        await self._request("terminal_kill", serialize_params(asked))

    async def release_terminal(self, session_id: str, terminal: str) -> None:
        asked = ReleaseTerminalRequest(session_id=session_id, terminal_id=terminal)
        await self._request("terminal_release", serialize_params(asked))

    async def _request(self, method: str, params: dict[str, Any]) -> None:
        await self._connection.send_request(CLIENT_METHODS[method], params)
