"""The editor at the other end: send it updates, ask it questions, and use what it offers."""

from typing import Any, Final, TypeAlias, TypeVar

from acp.core import Connection, RequestError
from acp.meta import CLIENT_METHODS
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ClientCapabilities,
    ConfigOptionUpdate,
    CreateFormSessionElicitationRequest,
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
from acp.utils import notify_model, serialize_params
from pydantic import BaseModel, ValidationError

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
Answer = TypeVar("Answer", bound=BaseModel)
INTERNAL: Final = -32603


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

    @property
    def has_forms(self) -> bool:
        return bool(self.offers.elicitation and self.offers.elicitation.form is not None)

    async def update(self, session_id: str, update: Update) -> None:
        sent = SessionNotification(session_id=session_id, update=update)
        await notify_model(self._connection, CLIENT_METHODS["session_update"], sent)

    async def ask_permission(
        self, session_id: str, call: ToolCallUpdate, options: list[PermissionOption]
    ) -> RequestPermissionResponse:
        asked = RequestPermissionRequest(session_id=session_id, tool_call=call, options=options)
        return await self._ask("session_request_permission", asked, RequestPermissionResponse)

    async def fill_in(self, form: CreateFormSessionElicitationRequest) -> dict[str, Any] | None:
        """The user's answers; None if the user gives none."""
        params = serialize_params(form)
        answer = await self._connection.send_request(CLIENT_METHODS["elicitation_create"], params)
        if not isinstance(answer, dict) or answer.get("action") != "accept":
            return None
        content = answer.get("content") or {}
        return content if isinstance(content, dict) else None

    async def read_file(self, session_id: str, path: str) -> str:
        """A text as the editor has it, saved or not."""
        asked = ReadTextFileRequest(session_id=session_id, path=path)
        return (await self._ask("fs_read_text_file", asked, ReadTextFileResponse)).content

    async def write_file(self, session_id: str, path: str, content: str) -> None:
        asked = WriteTextFileRequest(session_id=session_id, path=path, content=content)
        await self._request("fs_write_text_file", serialize_params(asked) | {"content": content})

    async def create_terminal(self, asked: CreateTerminalRequest) -> str:
        """Run a command in a terminal of the editor; returns the terminal's id."""
        return (await self._ask("terminal_create", asked, CreateTerminalResponse)).terminal_id

    async def terminal_output(self, session_id: str, terminal: str) -> TerminalOutputResponse:
        asked = TerminalOutputRequest(session_id=session_id, terminal_id=terminal)
        return await self._ask("terminal_output", asked, TerminalOutputResponse)

    async def terminal_exit(self, session_id: str, terminal: str) -> WaitForTerminalExitResponse:
        asked = WaitForTerminalExitRequest(session_id=session_id, terminal_id=terminal)
        return await self._ask("terminal_wait_for_exit", asked, WaitForTerminalExitResponse)

    async def kill_terminal(self, session_id: str, terminal: str) -> None:
        asked = KillTerminalRequest(session_id=session_id, terminal_id=terminal)
        await self._request("terminal_kill", serialize_params(asked))

    async def release_terminal(self, session_id: str, terminal: str) -> None:
        asked = ReleaseTerminalRequest(session_id=session_id, terminal_id=terminal)
        await self._request("terminal_release", serialize_params(asked))

    async def _ask(self, method: str, asked: BaseModel, answer: type[Answer]) -> Answer:
        found = await self._connection.send_request(CLIENT_METHODS[method], serialize_params(asked))
        try:
            return answer.model_validate(found)
        except ValidationError:
            raise RequestError(INTERNAL, "The editor's answer cannot be read.") from None

    async def _request(self, method: str, params: dict[str, Any]) -> None:
        await self._connection.send_request(CLIENT_METHODS[method], params)
