"""The harness's command tools, within our limits."""

import copy
import posixpath
import re
import time
from dataclasses import replace
from typing import Any, Final

from pydantic_ai.capabilities import WrapToolExecuteHandler
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import ToolsetTool
from pydantic_ai_harness.shell import Shell, ShellToolset

from co_tui.agent.library_internals import Job
from co_tui.agent.permissions.verdict import VERDICT
from co_tui.session.approvals.permissions import Permissions
from co_tui.session.processes.printed_output import KeepsPrinted
from co_tui.session.tools.kept_output import MOST_KEPT_BYTES, SHOWN_BYTES
from co_tui.session.tools.left_commands import FINISHED, STARTED
from co_tui.session.tools.running_commands import CURRENT_CALL, ENDS_WITH_CALL, RunningCommands
from co_tui.session.turns.current_agent import CURRENT_AGENT
from co_tui.settings.rules import AUTO

LABEL_CHARS: Final = 2_000
"""For labels, notes and the exit code around the output."""
WORTH_REPORTING_S: Final = 1.0
"""A command that took longer reports its time in its result."""
_LEFT_RUNNING: Final = re.compile(r"(?<![&>])&(?![&>])|\b(?:nohup|setsid|disown|daemon\w*)\b")
"""Matches a command line that visibly leaves something running; `2>&1` and `&&` do not."""
_FAILED: Final = re.compile(r"^\[exit code: (?!0\])", re.MULTILINE)


class LimitedShell(Shell[Any]):
    """The harness's command tools. Approvals decide what is allowed, not lists of names."""

    def __init__(self, limit_s: float, commands: RunningCommands, permissions: Permissions) -> None:
        super().__init__(
            denied_commands=(),
            default_timeout=limit_s,
            max_output_chars=SHOWN_BYTES + LABEL_CHARS,
            max_log_bytes=MOST_KEPT_BYTES,
        )
        self._commands = commands
        self._tools = _SessionShell(self, commands, permissions)

    def get_toolset(self) -> ShellToolset[Any]:
        return self._tools

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Assign a command's output to the call that runs it."""
        if call.tool_name != "run_command":
            return await handler(args)
        token = CURRENT_CALL.set(call.tool_call_id)
        ends = ENDS_WITH_CALL.set(_LEFT_RUNNING.search(str(args.get("command"))) is None)
        try:
            return await handler(args)
        finally:
            CURRENT_CALL.reset(token)
            ENDS_WITH_CALL.reset(ends)

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        """A model may shorten the timeout of the setting, not extend it."""
        if call.tool_name != "run_command":
            return args
        timeout = args.get("timeout_seconds")
        is_shorter = isinstance(timeout, int | float) and 0 < timeout < self.default_timeout
        return {**args, "timeout_seconds": timeout if is_shorter else self.default_timeout}

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], result: Any
    ) -> Any:
        if call.tool_name == "start_command" and (found := STARTED.search(str(result))):
            self._commands.begin(found[1], str(args.get("command")), str(args.get("wait_for") or ""))
        elif call.tool_name == "stop_command":
            self._commands.forget(str(args.get("command_id")))
            await self._commands.keep_printed(str(args.get("command_id")))
        elif call.tool_name == "check_command" and FINISHED in str(result):
            self._commands.note_seen(str(args.get("command_id")))
            await self._commands.keep_printed(str(args.get("command_id")))
        if isinstance(result, str) and (notes := self._commands.take_notes()):
            result = f"{result}\n[{notes}]"
        if call.tool_name != "run_command":
            return result  # the id of a refused command may be reused
        took = time.monotonic() - self._tools.began.pop((CURRENT_AGENT.get(), call.tool_call_id), time.monotonic())
        return f"{result}\n[took {took:.1f} s]" if took >= WORTH_REPORTING_S else result


class _SessionShell(ShellToolset[Any]):
    """Writes the output of background commands to the session's folder, not the user's, and states the timeout in the
    tool's description."""

    def __init__(self, shell: Shell[Any], commands: RunningCommands, permissions: Permissions) -> None:
        super().__init__(
            allowed_commands=shell.allowed_commands,
            denied_commands=shell.denied_commands,
            denied_operators=shell.denied_operators,
            default_timeout=shell.default_timeout,
            max_output_chars=shell.max_output_chars,
            max_log_bytes=shell.max_log_bytes,
            persist_cwd=shell.persist_cwd,
            allow_interactive=shell.allow_interactive,
            id="shell",
        )
        self._commands = commands
        self._permissions = permissions
        self.began: dict[tuple[str, str], float] = {}
        """When each running command began, by agent and call."""

    async def start_command(self, ctx: RunContext[Any], command: str, wait_for: str = "") -> str:
        """Start a long-running command in the background (e.g. a server or watcher).

        With your next step after that, you are told when it ended and when it printed `wait_for`.
        `stop_command(command_id)` stops it and removes its output files.

        Args:
            ctx: The current agent run context.
            command: The shell command to run in the background.
            wait_for: A text in its output that you want to be told about, such as "Listening on".

        Returns:
            A message containing the unique command ID for later check/stop calls.
        """
        return await super().start_command(ctx, command)

    async def stop_command(self, ctx: RunContext[Any], command_id: str) -> str:
        """Stop a background command and return its final output.

        Args:
            ctx: The current agent run context.
            command_id: The ID returned by start_command.

        Returns:
            Final output and exit status of the stopped command.
        """
        # Other sandboxed commands, with which the harness would stop it, do not see its processes.
        self._commands.note_seen(command_id)
        await self._commands.end(command_id, by_user=False)
        return await super().stop_command(ctx, command_id)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """In mode `auto`, explain to the model how to ask about a command that the sandbox refused."""
        if name == "run_command":
            self.began[CURRENT_AGENT.get(), ctx.tool_call_id or ""] = time.monotonic()
            ctx = replace(ctx, workspace=KeepsPrinted(ctx.workspace))
        judged = VERDICT.get().judged_line if name == "run_command" else ""
        given = {**tool_args, "command": judged} if judged else tool_args
        running = super().call_tool(name, given, ctx, tool)
        if name == "run_command":
            result = await self._commands.result_of(str(tool_args.get("command")), running)
        else:
            result = await running
        failed = name == "run_command" and _FAILED.search(str(result))
        if not failed or self._permissions.mode != AUTO or VERDICT.get().outside_sandbox:
            return result
        if not (why := self._permissions.refused_by_sandbox(str(tool_args.get("command")), str(result))):
            return result
        return f"{result}\n[The sandbox blocked this: {why}. Run the same command again to ask the user.]"

    async def _read_bg_output(self, job: Job) -> tuple[str, str]:
        """Both ends of what it printed; the harness would give the end only."""
        return await self._commands.printed(posixpath.basename(job.directory))

    async def _jobs_base(self, ctx: RunContext[Any]) -> str:
        return await self._commands.output_folder()

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        tools = await super().get_tools(ctx)
        return {name: replace(tool, tool_def=self._described(tool.tool_def)) for name, tool in tools.items()}

    def _described(self, tool: ToolDefinition) -> ToolDefinition:
        if tool.name == "start_command":
            return replace(tool, description=f"{tool.description}\n\nIt ends with the session at the latest.")
        if tool.name != "run_command":
            return tool
        schema = copy.deepcopy(tool.parameters_json_schema)
        limit = f"Maximum seconds to wait (default, and at most: {self._default_timeout:g})."
        schema["properties"]["timeout_seconds"]["description"] = limit
        return replace(tool, parameters_json_schema=schema)
