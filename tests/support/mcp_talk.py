"""Sessions with MCP servers: an odd one for whatever a server may do, and a model that calls its tools."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import co_tui.agent.mcp.connection  # noqa: F401  # takes seconds: before the processes are forked that run tests
from co_tui.events import SessionError
from co_tui.session.approvals.questions import Unattended
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.settings.mcp_servers import McpServer
from tests.support.approving import left, log_of
from tests.support.environments import facts
from tests.support.waiting import PATIENCE_S
from tests.support.working import Call, Working, working_in

ODD = Path(__file__).parent / "odd_mcp_server.py"


def odd(*arguments: str, start_timeout_s: float = PATIENCE_S, **settings: Any) -> McpServer:
    program = {"command": sys.executable, "args": ("-S", str(ODD), *arguments)}
    return McpServer(**program, start_timeout_s=start_timeout_s, **settings)


def calls(*tools: str) -> list[Call]:
    return [(f"mcp__odd__{tool}", {}) for tool in tools]


def lives(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def processes_of(argument: str) -> list[str]:
    """The command lines of all processes with this argument, also of those in a sandbox, which count their own ids."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(each.read_bytes().decode(errors="replace").replace("\0", " "))
    return [line for line in found if argument in line]


class Talk:
    """A session whose model makes the calls of a script, with what became of it."""

    def __init__(
        self,
        folder: Path,
        home: Path,
        *steps: Call,
        person: Unattended | None = None,
        window: int = 60_000,
        **settings: Any,
    ) -> None:
        self.model = Working(*steps, window=window)
        self.environment: Environment = working_in(folder, home, self.model, person or Unattended(yes=True), **settings)
        self.environment.environ = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "sk-1234567890", "MY": "key-0123456789"}
        self.errors: list[SessionError] = []

    async def __aenter__(self) -> "Talk":
        self.session = await Session.start(self.environment, "scripted")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.errors = facts(log_of(self.environment, self.session), SessionError)
        await self.environment.mcp_servers.close()
        await left(self.environment, self.session)

    async def say(self, prompt: str) -> Outcome:
        return await asyncio.wait_for(self.session.submit(prompt), PATIENCE_S)
