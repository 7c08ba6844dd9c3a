"""Commands that the model runs: how long they may take, and that none of them outlives the session."""

import re
import time
from typing import Any, Final

import anyio
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai_harness.shell import Shell

MOST_OUTPUT_CHARS: Final = 50_000
STOPPING_S: Final = 5.0
"""How long the end of a session waits for what still runs to go."""
WORTH_TELLING_S: Final = 1.0
"""A command that took so long says so in its result."""
_STARTED: Final = re.compile(r"^ID: ([0-9a-f]{32})$", re.MULTILINE)


class BackgroundCommands:
    """What one session started and has not stopped yet."""

    def __init__(self) -> None:
        self._running: dict[str, tuple[Shell[Any], RunContext[Any]]] = {}

    def note(self, shell: Shell[Any], ctx: RunContext[Any], tool: str, arguments: dict[str, Any], result: Any) -> None:
        """Hear what a tool for commands returned."""
        if tool == "start_command" and (found := _STARTED.search(str(result))):
            self._running[found[1]] = (shell, ctx)
        elif tool == "stop_command":
            self._running.pop(str(arguments.get("command_id")), None)

    async def stop_all(self) -> None:
        running, self._running = self._running, {}
        with anyio.move_on_after(STOPPING_S):
            for command_id, (shell, ctx) in running.items():
                await shell.get_toolset().stop_command(ctx, command_id)


class LimitedShell(Shell[Any]):
    """The harness's tools for commands. Which are allowed is decided by approvals, not by their names."""

    def __init__(self, limit_s: float, background: BackgroundCommands) -> None:
        super().__init__(denied_commands=(), default_timeout=limit_s, max_output_chars=MOST_OUTPUT_CHARS)
        self._background = background
        self._began: dict[str, float] = {}

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        """A model may ask for less time than the setting gives, not for more."""
        if call.tool_name != "run_command":
            return args
        self._began[call.tool_call_id] = time.monotonic()
        wanted = args.get("timeout_seconds")
        good = isinstance(wanted, int | float) and 0 < wanted < self.default_timeout
        return {**args, "timeout_seconds": wanted if good else self.default_timeout}

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], result: Any
    ) -> Any:
        self._background.note(self, ctx, call.tool_name, args, result)
        took = time.monotonic() - self._began.pop(call.tool_call_id, time.monotonic())
        return f"{result}\n[took {took:.1f} s]" if took >= WORTH_TELLING_S else result
