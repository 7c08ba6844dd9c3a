"""Sessions that work in a folder with the real tools, and a model that makes the calls of a script."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import DeltaToolCall

from co_tui.session.approvals.questions import Unattended
from co_tui.session.environment import Environment
from co_tui.session.workplace.here.local_workplace import LocalWorkplace
from tests.context.request.test_repair import breaches
from tests.support.environments import ScriptedModel, environment_for

Call = tuple[str, dict[str, Any]]
WINDOW = 60_000
_of_git: dict[str, tuple[int, bytes | None]] = {}
"""The files that git makes of the small project, each with its mode, and the folders."""


class Working(ScriptedModel):
    """Makes one step of the script after the other, and then says that it is done."""

    def __init__(self, *steps: Call | Sequence[Call], window: int = WINDOW) -> None:
        self.steps = list(steps)
        self.requests: list[Any] = []
        self.offered: list[str] = []
        self.instructions = ""
        super().__init__(self._script, window=window)

    async def _script(self, messages: Any, info: Any) -> Any:
        assert breaches(messages) == []
        self.requests.append(messages)
        self.offered = [tool.name for tool in info.function_tools]
        self.instructions = info.instructions or ""
        if not self.steps:
            yield "done"
            return
        step = self.steps.pop(0)
        calls = [step] if isinstance(step, tuple) else step
        yield {
            n: DeltaToolCall(tool, json.dumps(arguments), tool_call_id=f"{tool}-{len(self.requests)}-{n}")
            for n, (tool, arguments) in enumerate(calls)
        }

    @property
    def returned(self) -> list[str]:
        """What the tools answered, as the model saw it in its last request."""
        return [
            str(part.content) if not hasattr(part, "model_response") else str(part.model_response())
            for message in self.requests[-1]
            if isinstance(message, ModelRequest)
            for part in message.parts
            if not isinstance(part, UserPromptPart) and hasattr(part, "tool_call_id")
        ]


def repository(place: Path) -> Path:
    """A small project with a test that fails. What git makes of it is made once a process, and copied."""
    place.mkdir()
    (place / "login.py").write_text("def greeting():\n    return 'helo'\n")
    (place / "check.py").write_text("import login\nassert login.greeting() == 'hello', login.greeting()\nprint('ok')\n")
    if not _of_git:
        for arguments in (["init", "-q", "-b", "main"], ["add", "."]):
            subprocess.run(["git", *arguments], cwd=place, check=True)
        for each in sorted((place / ".git").rglob("*")):
            content = each.read_bytes() if each.is_file() else None
            _of_git[str(each.relative_to(place))] = each.stat().st_mode, content
    else:
        (place / ".git").mkdir()
        for name, (mode, content) in _of_git.items():
            if content is None:
                (place / name).mkdir()
            else:
                (place / name).write_bytes(content)
                (place / name).chmod(mode)
    return place


def working_in(folder: Path, home: Path, model: ScriptedModel, person: Unattended, **settings: Any) -> Environment:
    environment = environment_for(home, model)
    environment.settings = environment.settings.but(**settings)
    environment.workplace = LocalWorkplace(folder)
    environment.works_in_folder = True
    environment.questions = person
    return environment


def outcomes(messages: Any) -> list[str]:
    found = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    return [part.outcome for part in found]
