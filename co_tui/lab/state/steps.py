"""The steps of a recorded conversation: what was called, and what came of it.

Reads tool calls, and the commands that agents without tools write into their replies.
"""

import re
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from co_tui.events.content import content_text, prompt_text
from co_tui.lab.message_text import arguments_of

_SHELL_NAME: Final = re.compile(r"bash|shell|terminal|exec|command|console|^run$|^sh$|^cmd$", re.IGNORECASE)
_FUNCTION: Final = re.compile(r"<function=([\w.-]+)>(.*?)</function>", re.DOTALL)
_PARAMETER: Final = re.compile(r"<parameter=([\w.-]+)>(.*?)</parameter>", re.DOTALL)
_TAGGED: Final = re.compile(r"<command>\s*(.*?)\s*</command>", re.DOTALL)
_FENCED: Final = re.compile(
    r"^```(?:bash|sh|shell|console|mswea_bash_command)?[ \t]*\n(.*?)^```", re.DOTALL | re.MULTILINE
)
_RESULT: Final = re.compile(
    r"<returncode>|\bbash-\$\s*$|^EXECUTION RESULT of \[|\(Open file: |^Observation:|\[Command finished with exit code"
)
SEARCH: Final = "<<<<<<< SEARCH"


class Step(NamedTuple):
    """One call with its result."""

    tool: str
    """Empty for a command that was written into a reply."""
    arguments: dict[str, Any]
    result: str

    @property
    def command(self) -> str:
        """The shell command; empty for calls of other tools."""
        if self.tool and not _SHELL_NAME.search(self.tool):
            return ""
        for name in ("command", "cmd", "script"):
            if value := self.arguments.get(name):
                return value if isinstance(value, str) else " ".join(map(str, value)) if isinstance(value, list) else ""
        return ""


class _Open(NamedTuple):
    call_id: str
    tool: str
    arguments: dict[str, Any]


class StepReader:
    """Pairs calls and results of a growing conversation, by position: ids may be used twice."""

    def __init__(self) -> None:
        self._open: list[_Open] = []

    def add(self, message: ModelMessage) -> list[Step]:
        """The steps that this message completes."""
        if isinstance(message, ModelResponse):
            calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
            self._open = [_Open(call.tool_call_id, call.tool_name, arguments_of(call)) for call in calls]
            if not calls:
                self._open = _written_calls(message.text or "")
            return []
        return [step for part in message.parts if (step := self._completed(part)) is not None]

    def _completed(self, part: Any) -> Step | None:
        if isinstance(part, ToolReturnPart):
            found = next((each for each in self._open if each.call_id == part.tool_call_id), None)
            result = content_text(part.content)
        elif isinstance(part, UserPromptPart):
            found = next((each for each in self._open if not each.call_id), None)
            result = prompt_text(part.content)
            if not _RESULT.search(result):
                return None
        else:
            return None
        if found is None:
            return None
        self._open.remove(found)
        return Step(found.tool, found.arguments, result)


def _written_calls(text: str) -> list[_Open]:
    """The call that a reply writes out as text."""
    if SEARCH in text:
        return []
    if function := _FUNCTION.search(text):
        values = {name: value.strip("\n") for name, value in _PARAMETER.findall(function[2])}
        return [_Open("", function[1], values)]
    tagged = _TAGGED.findall(text) or _FENCED.findall(text)
    return [_Open("", "", {"command": tagged[-1].strip()})] if tagged else []
