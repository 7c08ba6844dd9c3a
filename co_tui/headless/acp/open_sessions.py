"""The sessions an editor has open: run their turns and send their updates."""

import asyncio
import contextlib
from collections.abc import Iterator
from heapq import merge
from pathlib import Path

from acp.core import RequestError
from acp.helpers import text_block
from acp.schema import (
    AgentMessageChunk,
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    PromptResponse,
    StopReason,
    UnstructuredCommandInput,
    UserMessageChunk,
)

from co_tui.actions import COMMANDS, SlashCommand
from co_tui.agent.mcp.servers import McpServers
from co_tui.events import CompactionComplete, Event, Json, Ref, SessionError
from co_tui.events.file_diff import diff_in
from co_tui.events.stored_messages import pieces, text_of
from co_tui.events.tool_wording import stage_of
from co_tui.headless.acp.editor import Editor, Update
from co_tui.headless.acp.editor_folder import EditorFolder
from co_tui.headless.acp.editor_questions import EditorQuestions
from co_tui.headless.acp.options import ConfigOption, config_options
from co_tui.headless.acp.prompt_blocks import Prompt
from co_tui.headless.acp.tool_updates import ToolCall
from co_tui.headless.acp.updates import (
    HAS_OWN_UPDATE,
    Updates,
    compaction_notice,
    message_chunk,
    notice,
    plan_update,
    thought_chunk,
    usage_update,
)
from co_tui.headless.open_session import SessionOpening, environment_of, launch_of
from co_tui.headless.output import say
from co_tui.headless.slash_host import SlashHost
from co_tui.inert import inert, one_line
from co_tui.session.attachments import AttachmentRefused, has_images
from co_tui.session.file_references import NamedFile
from co_tui.session.hooks.session_hooks import PromptRefused
from co_tui.session.recorder import Listener
from co_tui.session.session import Session
from co_tui.session.slash.command_host import CommandFailed
from co_tui.session.slash.typed_command import (
    TypedCommand,
    find_without_screen,
    own_commands,
    parse_command,
    refusal,
)
from co_tui.session.state.history_edits import is_replaced, said
from co_tui.session.state.session_state import Entry, SessionState, seq_of
from co_tui.session.turns.turn import Outcome
from co_tui.settings import CommandFiles, commands_in_force
from co_tui.settings.rules import offered_modes
from co_tui.settings.trust_texts import waiting_instructions_text
from co_tui.store.store_errors import StoreError

AUTH_KINDS = frozenset(("authentication",))
LIMIT_KINDS = frozenset(("steps", "spending", "repeated_call"))
HOW_TO_AGREE = "Do it in a terminal: `co-tui run --session ID --yes -p COMMAND`."
LOGIN = "Run `co-tui login` in a terminal, then try again."


class OpenSession:
    """One session: prompts in, updates out."""

    def __init__(
        self, session: Session, listener: Listener, servers: McpServers, opening: SessionOpening, editor: Editor
    ) -> None:
        self.session = session
        self._servers = servers
        self._opening = opening
        self._editor = editor
        self._launch = launch_of(opening)
        self._updates = Updates(opening.cwd, self.options)
        self._sent = asyncio.Condition()
        self._sent_seq = 0
        self._error: SessionError | None = None
        """The failure that ended the last turn."""
        self._prompts = 0
        """How many are being answered."""
        self._cancels = 0
        """How often the editor cancelled."""
        self._stop_first = False
        """Whether to stop the turn that begins next: it was cancelled while its prompt was read."""
        self._sending = asyncio.create_task(self._send(listener), name=f"updates of {session.id}")

    @classmethod
    async def open(cls, opening: SessionOpening, editor: Editor) -> "OpenSession":
        """Start or resume the session. Raises `ModelUnusable` and `StoreError`."""
        questions = EditorQuestions(editor, opening.cwd)
        servers, listener = McpServers(waits_for_start=True), Listener()
        environment = environment_of(opening._replace(questions=questions), servers)
        environment.wrap_folder = lambda here, is_sandboxed: EditorFolder(
            here, editor, lambda: questions.session_id, is_sandboxed
        )
        servers.ask = questions.fill_in
        try:
            if opening.session_id:
                session = await Session.resume(environment, opening.session_id, opening.model, listener)
            else:
                session = await Session.start(environment, opening.model, listener)
        except BaseException:
            await servers.close()
            raise
        questions.session_id = session.id
        return cls(session, listener, servers, opening, editor)

    @property
    def folder(self) -> Path:
        return self._opening.cwd

    @property
    def modes(self) -> tuple[str, ...]:
        return offered_modes(at_home=self.session.at_home)

    def options(self) -> list[ConfigOption]:
        state = self.session.state
        return config_options(
            self._opening.context, self._opening.environ, self.session.settings, state.model, state.mode, self.modes
        )

    async def replay(self) -> None:
        """Tell the editor all that was said before."""
        for update in replayed(self.session.resumed_from, self.folder):
            await self._editor.update(self.session.id, update)

    def offer_commands(self, *problems: str) -> None:
        """Tell the editor which commands there are, what was wrong, and what is not used of further folders, once it
        knows the session: after what runs now has answered."""
        self._offering = asyncio.create_task(self._offer_commands(*problems))

    async def _offer_commands(self, *problems: str) -> None:
        paths = self._opening.context.paths
        files = await asyncio.to_thread(commands_in_force, paths, self.folder, self.session.settings)
        waiting = map(waiting_instructions_text, await asyncio.to_thread(self.session.folders.untrusted))
        with contextlib.suppress(ConnectionError):
            for sentence in filter(None, (*problems, *self.session.folders.problems, *waiting)):
                await self._say(sentence)
            await self._editor.update(self.session.id, commands_update(files))

    async def prompt(self, prompt: Prompt) -> PromptResponse:
        """Answer a prompt, or run the command it names. Raises `RequestError`."""
        cancels, self._error = self._cancels, None
        self._prompts += 1
        try:
            outcome = await self._answer(prompt)
            await self._all_sent()
        finally:
            self._prompts -= 1
            self._stop_first = False
        if not self._prompts:
            await self._end_calls()
        return PromptResponse(stop_reason="cancelled" if cancels != self._cancels else self._stop_reason(outcome))

    async def _end_calls(self) -> None:
        """No call still runs for the editor once its turn is over."""
        with contextlib.suppress(ConnectionError):
            for update in self._updates.unfinished():
                await self._editor.update(self.session.id, update)

    def cancel(self) -> None:
        """Stop all that was asked for, also what waits and what is still being read."""
        self._cancels += 1
        self._stop_first = not self.session.interrupt() and self._prompts > 0
        for waiting in self.session.queue.prompts:
            self.session.queue.withdraw(waiting.number)

    async def _answer(self, prompt: Prompt) -> Outcome:
        called = parse_command(prompt.text)
        try:
            if called is None:
                files = [await self._as_in_editor(file) for file in prompt.files]
                return await self.session.submit(prompt.text, files=files)
            return await self._run_command(called, prompt)
        except (AttachmentRefused, PromptRefused, CommandFailed, StoreError) as refused:
            await self._say(str(refused))
        return Outcome.DONE

    async def _as_in_editor(self, file: NamedFile) -> NamedFile:
        """A linked file with its unsaved text, if the editor has one."""
        if file.data is not None or not self._editor.reads_files or has_images((file,)):
            return file
        try:
            text = await self._editor.read_file(self.session.id, str(file.path))
        except (RequestError, ConnectionError):
            return file
        return file._replace(data=text.encode(errors="replace"))

    async def _run_command(self, called: TypedCommand, prompt: Prompt) -> Outcome:
        """Run a built-in command, or send one of a file or an MCP server."""
        paths = self._opening.context.paths
        if why := await asyncio.to_thread(refusal, called, self.session.settings, paths, self.folder):
            raise CommandFailed(why)
        row = await asyncio.to_thread(find_without_screen, called.name, self.session.settings, paths, self.folder)
        if row is None:
            return await self.session.submit(prompt.text, files=prompt.files)
        said: list[AgentMessageChunk] = []
        host = SlashHost(
            self._launch,
            self.session,
            say=lambda text: said.append(notice(text)),
            answer=lambda text: said.append(message_chunk(f"\n\n```\n{text}\n```\n\n")),
            how_to_agree=HOW_TO_AGREE,
        )
        try:
            outcome = await host.run(row, called.arguments)
        finally:
            self._launch = host.launch
            for update in said:
                await self._editor.update(self.session.id, update)
        # Only a turn can fail for the editor; a command says itself why it did not work.
        return outcome if host.has_sent else Outcome.DONE

    async def _say(self, sentence: str) -> None:
        await self._editor.update(self.session.id, notice(sentence))

    def _stop_reason(self, outcome: Outcome) -> StopReason:
        if outcome is Outcome.INTERRUPTED:
            return "cancelled"
        if outcome is Outcome.DONE:
            return "end_turn"
        error = self._error
        if error is not None and error.kind in LIMIT_KINDS:
            return "max_turn_requests"
        what = one_line(error.what, 1_000) if error is not None else "The turn failed."
        if error is not None and error.kind in AUTH_KINDS:
            raise RequestError(-32000, f"{what} {LOGIN}")
        raise RequestError(-32603, what)

    async def close(self, reason: str = "closed") -> None:
        try:
            await self.session.close(reason)
            await self._sending
        finally:
            await self._servers.close()

    async def _send(self, listener: Listener) -> None:
        """Send updates until the session is closed."""
        async for event in listener:
            if isinstance(event.fact, SessionError) and event.fact.retry_in_s is None and not event.fact.agent:
                self._error = event.fact if not event.fact.is_warning else self._error
            if self._stop_first:
                self._stop_first = not self.session.interrupt()
            try:
                for update in self._updates.of(event, self.session.state):
                    await self._editor.update(self.session.id, update)
            except ConnectionError:
                pass  # the editor is gone; the session ends in order
            except Exception as error:  # one update that cannot be made must not keep the rest from being sent
                say(f"An update of {type(event.fact).__name__} was not sent: {one_line(str(error), 200)}")
            if event.seq is not None:
                async with self._sent:
                    self._sent_seq = event.seq
                    self._sent.notify_all()

    async def _all_sent(self) -> None:
        """Wait until all updates so far are sent: the answer comes last."""
        seq = self.session.state.seq
        async with self._sent:
            await self._sent.wait_for(lambda: self._sent_seq >= seq or self._sending.done())


def commands_update(files: CommandFiles) -> AvailableCommandsUpdate:
    """The built-in commands that need no screen, and those of the user's files."""
    rows = [*own_commands(files), *(row for row in COMMANDS if not row.instead)]
    return AvailableCommandsUpdate(
        session_update="available_commands_update", available_commands=[_available(row) for row in rows]
    )


def _available(row: SlashCommand) -> AvailableCommand:
    hint = AvailableCommandInput(root=UnstructuredCommandInput(hint=row.arguments)) if row.arguments else None
    return AvailableCommand(name=row.name, description=row.help or row.name, input=hint)


def replayed(state: SessionState, folder: Path) -> Iterator[Update]:
    """All messages and compactions in order, then the plan and how full the context is."""
    history = _History(folder)
    own: Iterator[tuple[Ref, Entry | Event]] = ((entry.ref, entry) for entry in said(state) if not entry.agent)
    compactions: Iterator[tuple[Ref, Entry | Event]] = (
        ((seq_of(event), -1), event) for event in state.compactions if not is_replaced(state, seq_of(event))
    )
    items: Iterator[tuple[Ref, Entry | Event]] = merge(own, compactions, key=lambda each: each[0])
    for _, item in items:
        yield from history.entry(item) if isinstance(item, Entry) else history.compacted(item)
    yield from history.unanswered()
    if state.plan:
        yield plan_update(state.plan)
    if state.usage is not None:
        yield usage_update(state.usage, state)


class _History:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._calls: dict[str, ToolCall] = {}

    def entry(self, entry: Entry) -> Iterator[Update]:
        id = f"message-{entry.seq}"
        for role, text, part in pieces(entry.message):
            match role:
                case "user" | "attached" | "command" if text:
                    yield _user_chunk(text, id)
                case "assistant" if text:
                    yield message_chunk(text, id)
                case "thinking" if text:
                    yield thought_chunk(text, id)
                case "tool_call":
                    yield from self._call(str(part.get("tool_name") or ""), str(part.get("tool_call_id") or ""), text)
                case "tool_result":
                    yield from self._result(part)

    def compacted(self, event: Event) -> Iterator[Update]:
        if isinstance(event.fact, CompactionComplete):
            yield compaction_notice(event.fact)

    def unanswered(self) -> Iterator[Update]:
        """Calls that never got a result."""
        for call in self._calls.values():
            yield call.progress("stopped")

    def _call(self, tool: str, id: str, arguments: str) -> Iterator[Update]:
        if tool not in HAS_OWN_UPDATE:
            call = self._calls[id] = ToolCall(id, tool, arguments, self._folder)
            yield call.start()

    def _result(self, part: Json) -> Iterator[Update]:
        call = self._calls.pop(str(part.get("tool_call_id") or ""), None)
        if call is not None:
            failed = part.get("part_kind") == "retry-prompt"
            stage = "failed" if failed else stage_of(str(part.get("outcome") or "success"))
            yield call.progress(stage, text_of(part.get("content")), diff_in(part))


def _user_chunk(text: str, id: str) -> UserMessageChunk:
    return UserMessageChunk(session_update="user_message_chunk", content=text_block(inert(text)), message_id=id)
