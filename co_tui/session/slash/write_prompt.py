"""Write the prompt of a slash command: its file with arguments, files and the output of commands filled in (T8).

A command of the file is judged, asked about and run as one of the model's: the file allows no more to it than to those.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic_ai.messages import ModelRequest
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.workspaces import WorkspaceError

from co_tui.agent.mcp.server_prompts import PromptRefusedByServer, ServerPrompt
from co_tui.agent.mcp.servers import McpServers
from co_tui.agent.permissions.verdict import VERDICT, Verdict
from co_tui.agent.toolkit import Around, AskedCall, CallHooks, RunningCall, needs_approval
from co_tui.events.storable import storable_text
from co_tui.events.stored_messages import SLASH
from co_tui.inert import one_line
from co_tui.paths import path_text
from co_tui.session.approvals.asking import Approvals
from co_tui.session.attachments import AttachmentRefused
from co_tui.session.file_references import NO_FILE, NamedFile, NamedFiles, name_of
from co_tui.session.hooks.session_hooks import PromptRefused
from co_tui.session.prompt_messages import prompt_content, prompt_message
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.slash.find_command import FoundCommand
from co_tui.session.tools.working_tools import WorkingTools
from co_tui.session.workplace.workplace import Workplace
from co_tui.settings import CommandFile
from co_tui.settings.markdown.command_files import SKILL_FOLDER
from co_tui.settings.markdown.command_text import MOST_COMMANDS, TextPiece, filled, pieces_of

RUN: Final = "run_command"
READ: Final = "read_file"
LINE_CHARS: Final = 200


class SlashPrompt:
    """Writes the prompt of one typed command."""

    def __init__(
        self,
        found: FoundCommand,
        runtime: Runtime,
        workplace: Workplace,
        *,
        tools: WorkingTools | None,
        hooks: CallHooks,
        servers: McpServers,
        around: Around,
    ) -> None:
        """`tools` runs commands as the model's are run; None if this session has none."""
        self._found = found
        self._runtime = runtime
        self._workplace = workplace
        self._tools = tools
        self._hooks = hooks
        self._servers = servers
        self._around = around

    async def write(self, approvals: Approvals) -> ModelRequest:
        """The prompt. Raises `PromptRefused`."""
        found, command = self._found, self._found.command
        try:
            own = _attachable(self._workplace.named_files(found.arguments))
            if isinstance(command, ServerPrompt):
                text = await self._servers.prompt_text(command, found.arguments.split())
                source, files = f"prompt {command.own_name} of MCP server {command.server}", own
            else:
                text, files = await self._from_file(command, own, approvals)
                source = name_of(command.file, self._workplace.folder)
            text = storable_text(text)
            files = await self._attached(files, own)
            message = prompt_message(await prompt_content(text, files, self._runtime) if files else text)
        except (AttachmentRefused, PromptRefusedByServer, OSError) as refused:
            raise PromptRefused(f"Not sent: {refused}") from None
        message.metadata = {SLASH: {"typed": storable_text(found.typed), "source": storable_text(source)}}
        return message

    async def _from_file(
        self, command: CommandFile, own: Sequence[NamedFile], approvals: Approvals
    ) -> tuple[str, Sequence[NamedFile]]:
        """The text of a file's command, and the files to attach; `own` are those that the user typed."""
        pieces = filled(_pieces(command), self._found.arguments, command.argument_names)
        if (count := sum(piece.is_shell for piece in pieces)) > MOST_COMMANDS:
            raise PromptRefused(f"Not sent: it runs {count} commands; at most {MOST_COMMANDS} are allowed.")
        # Only in its own text: what commands print names no files.
        named = self._workplace.named_files("".join(piece.text for piece in pieces if not piece.is_shell))
        files = _attachable(NamedFiles(named.files, tuple(each for each in named.troubles if NO_FILE not in each)))
        for number, file in enumerate(files):
            if file not in own:
                await self._may_read(file, f"slash-file-{number}", approvals)
        texts = [await self._text(piece, number, approvals) for number, piece in enumerate(pieces)]
        return "".join((_heading(command), *texts)), files

    async def _attached(self, files: Sequence[NamedFile], own: Sequence[NamedFile]) -> list[NamedFile]:
        """The files, ready; what only looks like one in the command's text is left out."""
        found = []
        for file in files:
            try:
                found.append(await self._workplace.attached(file))
            except FileNotFoundError:
                if file in own:
                    raise
        return found

    async def _may_read(self, file: NamedFile, call_id: str, approvals: Approvals) -> None:
        """Raises `PromptRefused` for a file outside the folder that no rule allows, or one that rules or the user
        deny."""
        reads_outside = self._runtime.permissions.outside_reader()
        if not self._workplace.holds(file) and not reads_outside(file.path.resolve()):
            name = one_line(file.name, LINE_CHARS)
            raise PromptRefused(
                f"Not sent: {name} is outside this folder. Type @{name} after the command to attach it."
            )
        await self._allowed(READ, {"path": file.name}, call_id, approvals)

    async def _text(self, piece: TextPiece, number: int, approvals: Approvals) -> str:
        """The text of a piece, or what its command prints."""
        if not piece.is_shell:
            return piece.text
        shown = one_line(piece.text, LINE_CHARS)
        if self._tools is None or "commands" not in self._runtime.settings.tools:
            raise PromptRefused(f"Not sent: `{shown}` cannot run, since commands are off here.")
        allowed, verdict = await self._allowed(RUN, {"command": piece.text}, f"slash-{number}", approvals)
        token = VERDICT.set(verdict)
        try:
            async with self._around(RunningCall(RUN, verdict)):
                return await self._tools.run_line(str(allowed["command"]))
        except (WorkspaceError, OSError) as error:
            raise PromptRefused(
                f"Not sent: `{shown}` failed: {one_line(str(error).rstrip('.'), LINE_CHARS)}."
            ) from None
        finally:
            VERDICT.reset(token)

    async def _allowed(
        self, tool: str, arguments: Mapping[str, Any], call_id: str, approvals: Approvals
    ) -> tuple[Mapping[str, Any], Verdict]:
        """The arguments with which it may be called, which hooks may change, and how they were judged. Raises
        `PromptRefused`."""
        schema = {"type": "object", "properties": {key: {"type": "string"} for key in arguments}}
        hooked = await self._hooks.before(ToolDefinition(name=tool, parameters_json_schema=schema), arguments, call_id)
        arguments = hooked.arguments or arguments
        what = str(next(iter(arguments.values())))
        verdict = await self._runtime.permissions.verdict(tool, arguments)
        if not needs_approval(hooked, verdict):
            return arguments, verdict
        denied = await approvals.ask(AskedCall(call_id, tool, arguments, what, hooked))
        if denied is not None:
            raise PromptRefused(f"Not sent: `{one_line(what, LINE_CHARS)}` was not allowed. {denied.message}")
        return arguments, verdict


def _pieces(command: CommandFile) -> list[TextPiece]:
    """The text of its file, in which a skill may name its folder."""
    pieces = pieces_of(command.body)
    if not command.is_skill:
        return pieces
    return [piece._replace(text=piece.text.replace(SKILL_FOLDER, path_text(command.file.parent))) for piece in pieces]


def _heading(command: CommandFile) -> str:
    """Where the other files of a skill are, as the model reads it when it loads one by itself."""
    if not command.is_skill:
        return ""
    where = f"Skill directory: `{path_text(command.file.parent)}`. Relative paths in this skill resolve against it."
    return f"# Skill: {command.own_name}\n\n{where}\n\n"


def _attachable(named: NamedFiles) -> Sequence[NamedFile]:
    """Raises `AttachmentRefused` for files that cannot be attached."""
    if named.troubles:
        raise AttachmentRefused(" ".join(named.troubles))
    return named.files
