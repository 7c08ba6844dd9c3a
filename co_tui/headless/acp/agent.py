"""The methods of the Agent Client Protocol."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from acp.core import RequestError
from acp.meta import PROTOCOL_VERSION
from acp.schema import (
    AgentCapabilities,
    AuthMethodAgent,
    ClientCapabilities,
    ForkSessionResponse,
    HttpMcpServer,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    McpServerStdio,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionDeleteCapabilities,
    SessionForkCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SseMcpServer,
    TerminalAuthMethod,
)

from co_tui import __version__
from co_tui.agent.mcp.servers import McpServers
from co_tui.agent.wire.model_errors import KeyMissing, ModelUnusable
from co_tui.headless.acp.editor import Editor
from co_tui.headless.acp.open_sessions import LOGIN, OpenSession
from co_tui.headless.acp.options import MODE, MODEL, POLICY, mode_state
from co_tui.headless.acp.prompt_blocks import Block, read_prompt
from co_tui.headless.open_session import SessionOpening, environment_of
from co_tui.headless.output import CommandContext
from co_tui.headless.sessions.stored_rows import refresh, stored_row
from co_tui.inert import one_line
from co_tui.paths import recorded_path
from co_tui.session.approvals.modes import ModeRefused
from co_tui.session.attachments import AttachmentRefused
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.forking import fork_stored
from co_tui.session.runtime.runtime_switcher import WindowTooSmall
from co_tui.settings import Loaded, load, load_resumed, policy_names
from co_tui.settings.all_settings import check
from co_tui.settings.mcp_servers import MOST_SERVERS, McpServer
from co_tui.settings.rules import MODES, SettingsError
from co_tui.store.housekeeping import move_to_trash
from co_tui.store.store_errors import SessionNotFound, StoreError

PAGE: Final = 50
EDITOR: Final = "the editor"
INVALID, NOT_FOUND, AUTH, INTERNAL = -32602, -32002, -32000, -32603
GivenServer = HttpMcpServer | SseMcpServer | McpServerStdio
Servers = Sequence[GivenServer] | None
Further = Sequence[str] | None
"""Folders to work in besides the session's own."""
Response = TypeVar("Response", NewSessionResponse, LoadSessionResponse, ResumeSessionResponse, ForkSessionResponse)


class Agent:
    """Answers an editor. Its methods have the names and parameters that the protocol's library routes to."""

    def __init__(
        self, editor: Editor, context: CommandContext, environ: Mapping[str, str], given: Mapping[str, Any]
    ) -> None:
        """`given` are the options of the command line, which every session starts with."""
        self._editor = editor
        self._context = context
        self._environ = environ
        self._given = given
        self._open: dict[str, OpenSession] = {}
        self.is_initialized = False
        """Whether the editor has introduced itself; until then its other requests are refused."""

    async def initialize(
        self, protocol_version: int, client_capabilities: ClientCapabilities | None = None, **_: Any
    ) -> InitializeResponse:
        self._editor.offers = client_capabilities or ClientCapabilities()
        self.is_initialized = True
        return InitializeResponse(
            protocol_version=min(max(protocol_version, 1), PROTOCOL_VERSION),
            agent_info=Implementation(name="co-tui", title="co-tui", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=True, sse=False),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    resume=SessionResumeCapabilities(),
                    fork=SessionForkCapabilities(),
                    close=SessionCloseCapabilities(),
                    delete=SessionDeleteCapabilities(),
                    additional_directories=SessionAdditionalDirectoriesCapabilities(),
                ),
            ),
            auth_methods=[self._login_method()],
        )

    def _login_method(self) -> TerminalAuthMethod | AuthMethodAgent:
        name, about = "co-tui login", "Save a provider's key: run `co-tui login` in a terminal."
        offers = self._editor.offers.auth
        if offers is not None and offers.terminal:
            return TerminalAuthMethod(type="terminal", id="login", name=name, description=about, args=["--login"])
        return AuthMethodAgent(id="login", name=name, description=about)

    async def authenticate(self, method_id: str, **_: Any) -> None:
        """Keys are read again for every session; nothing is kept here."""

    async def new_session(
        self, cwd: str, mcp_servers: Servers = None, additional_directories: Further = None, **_: Any
    ) -> NewSessionResponse:
        opened = await self._opened("", cwd, mcp_servers, additional_directories)
        return self._described(opened, NewSessionResponse(session_id=opened.session.id))

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Servers = None, additional_directories: Further = None, **_: Any
    ) -> LoadSessionResponse:
        opened = await self._opened(session_id, cwd, mcp_servers, additional_directories, replay=True)
        return self._described(opened, LoadSessionResponse())

    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: Servers = None, additional_directories: Further = None, **_: Any
    ) -> ResumeSessionResponse:
        opened = await self._opened(session_id, cwd, mcp_servers, additional_directories)
        return self._described(opened, ResumeSessionResponse())

    async def fork_session(
        self, session_id: str, cwd: str, mcp_servers: Servers = None, additional_directories: Further = None, **_: Any
    ) -> ForkSessionResponse:
        try:
            opening, _problems = await asyncio.to_thread(
                self._opening, session_id, cwd, mcp_servers, additional_directories
            )
            if (source := self._open.get(session_id)) is not None:
                fork = await source.session.fork()
            else:
                await asyncio.to_thread(refresh, self._context, session_id)
                servers = McpServers()
                fork = await fork_stored(environment_of(opening, servers), session_id)
        except StoreError as error:
            raise _refusal(error) from None
        opened = await self._opened(fork, cwd, mcp_servers, additional_directories)
        return self._described(opened, ForkSessionResponse(session_id=fork))

    def _described(self, opened: OpenSession, response: Response) -> Response:
        """The response with the session's modes and options."""
        response.modes = mode_state(opened.session.state.mode, opened.modes)
        response.config_options = opened.options()
        return response

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> ListSessionsResponse:
        start = int(cursor) if cursor and cursor.isdecimal() else 0

        def read() -> list[SessionInfo]:
            if not start:
                refresh(self._context)
            with self._context.store.reading() as reading:
                rows = reading.sessions(limit=start + PAGE + 1, cwd=cwd or "")[start:]
            return [
                SessionInfo(session_id=row.id, cwd=row.cwd or "/", title=row.title or None, updated_at=row.updated)
                for row in rows
            ]

        found = await asyncio.to_thread(read)
        more = str(start + PAGE) if len(found) > PAGE else None
        return ListSessionsResponse(sessions=found[:PAGE], next_cursor=more)

    async def delete_session(self, session_id: str, **_: Any) -> None:
        """Move the session to the trash, from which co-tui can restore it."""
        await self.close_session(session_id)
        try:
            await asyncio.to_thread(move_to_trash, self._context.store, session_id)
        except StoreError as error:
            raise _refusal(error) from None

    async def close_session(self, session_id: str, **_: Any) -> None:
        if (opened := self._open.pop(session_id, None)) is not None:
            await opened.close()

    async def prompt(self, session_id: str, prompt: list[Block], **_: Any) -> PromptResponse:
        opened = self._session(session_id)
        try:
            read = read_prompt(prompt, opened.folder)
        except AttachmentRefused as refused:
            raise RequestError(INVALID, str(refused)) from None
        if not read.text:
            raise RequestError(INVALID, "The prompt is empty.")
        return await opened.prompt(read)

    async def cancel(self, session_id: str, **_: Any) -> None:
        if (opened := self._open.get(session_id)) is not None:
            opened.cancel()

    async def set_session_mode(self, mode_id: str, session_id: str, **_: Any) -> None:
        await self._set(session_id, MODE, mode_id)

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        await self._set(session_id, config_id, str(value))
        return SetSessionConfigOptionResponse(config_options=self._session(session_id).options())

    async def _set(self, session_id: str, option: str, value: str) -> None:
        session = self._session(session_id).session
        try:
            match option:
                case "mode" if value in MODES:
                    await session.switcher.switch_mode(value)
                case "model":
                    await session.switcher.switch_model(value, compact=True)
                case "policy":
                    await session.switcher.switch_policy(self._chosen_policy(self._session(session_id), value).settings)
                case "mode":
                    raise RequestError(
                        INVALID, f"There is no mode {one_line(value, 60)}. Choose from: {', '.join(MODES)}."
                    )
                case _:
                    known = ", ".join((MODE, MODEL, POLICY))
                    raise RequestError(INVALID, f"There is no option {one_line(option, 60)}. Choose from: {known}.")
        except (ModeRefused, ModelUnusable, WindowTooSmall, CompactionRefused, StoreError) as refused:
            raise _refusal(refused) from None

    async def close(self) -> None:
        """Close all sessions in order: the editor is gone."""
        opened, self._open = list(self._open.values()), {}
        await asyncio.gather(*(each.close("the editor closed the connection") for each in opened))

    def _session(self, session_id: str) -> OpenSession:
        if (opened := self._open.get(session_id)) is None:
            raise RequestError(NOT_FOUND, f"Session {session_id} is not open. Load or resume it first.")
        return opened

    async def _opened(
        self, session_id: str, cwd: str, mcp_servers: Servers, further: Further, *, replay: bool = False
    ) -> OpenSession:
        try:
            opening, why = await asyncio.to_thread(self._opening, session_id, cwd, mcp_servers, further)
            await self.close_session(session_id)
            opened = await OpenSession.open(opening, self._editor)
        except (StoreError, ModelUnusable) as error:
            raise _refusal(error) from None
        self._open[opened.session.id] = opened
        if replay:
            await opened.replay()
        opened.offer_commands(why)
        return opened

    def _opening(
        self, session_id: str, cwd: str, mcp_servers: Servers, further: Further = None
    ) -> tuple[SessionOpening, str]:
        """How to open the session, and what of it cannot be used, as sentences."""
        folder = _absolute(cwd, "a folder with an absolute path")
        if not folder.is_dir():
            raise RequestError(INVALID, f"There is no folder {one_line(cwd, 300)}.")
        for each in further or ():
            _absolute(each)
        loaded, why = self._loaded(folder, self._given), ""
        if session_id:
            policy = stored_row(session_id, self._context).policy
            loaded, why = load_resumed(
                policy,
                loaded,
                paths=self._context.paths,
                cwd=folder,
                environ=self._environ,
                command_line=self._given,
            )
        given, refused = _servers(mcp_servers or ())
        settings = loaded.settings.but(mcp_servers={**loaded.settings.mcp_servers, **given})
        workplace = self._context.workplace.in_folder(folder)
        workplace.add_dirs = (*workplace.add_dirs, *(further or ()))
        context = self._context._replace(loaded=loaded.but(settings=settings), workplace=workplace)
        model = loaded.overriding_model
        opening = SessionOpening(context, self._environ, folder, session_id, model, works_in_folder=True)
        return opening, " ".join(filter(None, (why, *refused)))

    def _chosen_policy(self, opened: OpenSession, policy: str) -> Loaded:
        """The settings under a policy that the editor chose: one of those offered to it. Raises `RequestError`."""
        offered = policy_names(self._context.paths)
        if policy not in offered and policy != self._given.get("policy"):
            raise RequestError(
                INVALID, f"There is no policy {one_line(policy, 60)}. Choose from: {', '.join(offered)}."
            )
        return self._loaded(opened.folder, {**self._given, "policy": policy})

    def _loaded(self, folder: Path, given: Mapping[str, Any]) -> Loaded:
        """The settings in a folder. Raises `RequestError`."""
        loaded = load(paths=self._context.paths, cwd=folder, environ=self._environ, command_line=given)
        if loaded.problems:
            raise RequestError(INVALID, " ".join(loaded.problems))
        return loaded


def _absolute(text: str, wanted: str = "an absolute path") -> Path:
    """The path. Raises `RequestError` for what can be none."""
    path = Path(text)
    try:
        path = recorded_path(text)  # as a list of sessions named it
        path.is_dir()
    except OSError as error:
        raise RequestError(INVALID, f"Cannot use the path {one_line(text, 300)}: {error.strerror or error}.") from None
    if not path.is_absolute() or "\0" in text:
        raise RequestError(INVALID, f"{one_line(text, 300)} is not {wanted}.")
    return path


def _servers(given: Sequence[GivenServer]) -> tuple[dict[str, McpServer], list[str]]:
    """The servers of an editor, read as those of the settings; a sentence for each that is left out."""
    found: dict[str, McpServer] = {}
    refused: list[str] = []
    for each in given[:MOST_SERVERS]:
        try:
            found |= cast(dict[str, McpServer], check("mcp_servers", {each.name: _table(each)}, source=EDITOR))
        except SettingsError as error:
            refused.append(f"{error} The server is left out.")
    if (more := len(given) - MOST_SERVERS) > 0:
        refused.append(f"{more} more MCP servers of the editor are left out: at most {MOST_SERVERS} are used.")
    return found, refused


def _table(given: GivenServer) -> dict[str, object]:
    if isinstance(given, McpServerStdio):
        env = {each.name: each.value for each in given.env}
        return {"command": given.command, "args": given.args, "env": env}
    return {"url": given.url, "headers": {each.name: each.value for each in given.headers}}


def _refusal(error: Exception) -> RequestError:
    if isinstance(error, KeyMissing):
        return RequestError(AUTH, f"{error} {LOGIN}")
    return RequestError(NOT_FOUND if isinstance(error, SessionNotFound) else INTERNAL, str(error))
