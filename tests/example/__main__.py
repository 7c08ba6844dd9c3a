"""Records the example session: `uv run python -m tests.example`.

The job is done by the real engine with its real tools, in a folder that is thrown away; only the model is scripted.
"""

import asyncio
import json
import platform
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path
from unittest import mock

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import function
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls
from pydantic_ai.usage import RequestUsage

from co_tui.context.measure.count import estimate_message, estimate_text, estimate_tools
from co_tui.events import CompactionComplete, Event, SessionOrigin
from co_tui.events.event import encode
from co_tui.events.model_names import EXAMPLE_MODEL, EXAMPLE_WINDOW_TOKENS
from co_tui.exchange.intake.example import EXAMPLE
from co_tui.session.approvals.questions import Unattended
from co_tui.session.runtime.runtime_switcher import RuntimeSwitcher
from co_tui.session.session import Session
from co_tui.settings import load
from tests.example.project import FILES
from tests.example.story import AFTER, BEFORE, TITLE, Step, Turn
from tests.support.environments import ScriptedModel
from tests.support.working import working_in

BEGAN = datetime.fromisoformat("2026-11-02T09:14:03+00:00")
SLOWER = 90
"""How many times longer the job took than its recording takes."""
_TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(?:Z|\+00:00)")
GIVEN = {"mode": "edits", "daily_memory": "off"}
_USER = re.compile(r"pytest-of-\w+")
OF_THIS_MACHINE = {
    sys.base_prefix: "/usr",
    f"{platform.system()} {platform.release()} ({platform.machine()})": "Linux 6.12.0 (x86_64)",
}
"""What names the machine of the recording, and what the example says instead."""


class Storyteller(ScriptedModel):
    """Makes one step of the story after the other."""

    def __init__(self) -> None:
        super().__init__(self._tell, EXAMPLE_MODEL, EXAMPLE_WINDOW_TOKENS)
        self.steps: list[Step] = []
        self._calls = 0
        self._asked_tokens = 0

    async def _tell(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        fixed = estimate_text(info.instructions or "") + estimate_tools(info.function_tools)
        self._asked_tokens = fixed + sum(map(estimate_message, messages))
        step = self.steps.pop(0)
        if step.text:
            yield step.text
        for n, (tool, arguments) in enumerate(step.calls):
            self._calls += 1
            yield {n: DeltaToolCall(tool, json.dumps(arguments), tool_call_id=f"call_{self._calls:02}")}

    def usage(self, *_: object, **__: object) -> RequestUsage:
        """What a provider would report that counts as we do."""
        return RequestUsage(input_tokens=self._asked_tokens)


async def recorded(folder: Path, home: Path) -> list[Event]:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    model = Storyteller()
    environment = working_in(folder, home, model, Unattended(yes=True))
    environment.settings = load(paths=environment.paths, cwd=folder, environ={}, command_line=GIVEN).settings
    still_answers = mock.patch.object(RuntimeSwitcher, "leave_recording")
    usage, text = "_estimate_usage", "_estimate_string_tokens"
    counts = mock.patch.multiple(function, **{usage: model.usage, text: lambda said: estimate_text(str(said))})
    with counts, still_answers:
        session = await Session.start(environment, model.name)
        await session.rename(TITLE)
        await _told(session, model, *BEFORE)
        await session.compact()
        await _told(session, model, *AFTER)
        usage = session.state.usage
        await session.close()
    assert usage is not None
    print(f"{usage.current_tokens:,} of {usage.token_limit:,} tokens: {usage.current_tokens / usage.token_limit:.0%}")
    with environment.store.reading() as reading:
        events = list(reading.events(session.id))
    environment.store.close()
    return events


async def _told(session: Session, model: Storyteller, *turns: Turn) -> None:
    for turn in turns:
        model.steps = list(turn.steps)
        await session.submit(turn.prompt)
        assert not model.steps, model.steps


def published(events: list[Event], folder: Path) -> Iterator[str]:
    """The lines of the file: under their own times, and without where they were recorded."""
    first = datetime.fromisoformat(events[0].timestamp.replace("Z", "+00:00"))

    def later(found: re.Match[str]) -> str:
        at = datetime.fromisoformat(found[0].replace("Z", "+00:00"))
        return (BEGAN + (at - first) * SLOWER).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    for event in events:
        if isinstance(event.fact, SessionOrigin):
            event = event.but(fact=event.fact.but(cwd="", host=""))
        elif isinstance(event.fact, CompactionComplete):  # its checkpoint is a file of this machine
            event = event.but(fact=event.fact.but(checkpoint_number=None, checkpoint_path=""))
        line = json.dumps(encode(event.but(session_id="example")), ensure_ascii=False, separators=(",", ":"))
        line = _USER.sub("pytest-of-you", _TIME.sub(later, line))
        for here, there in {str(folder): "/home/you/pantry", **OF_THIS_MACHINE}.items():
            line = line.replace(here, there)
        yield line


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder, home = Path(place, "pantry"), Path(place, "home")
        folder.mkdir()
        events = asyncio.run(recorded(folder, home))
        EXAMPLE.write_text("".join(f"{line}\n" for line in published(events, folder)), encoding="utf-8")
    kinds = [event.type for event in events]
    print(f"{kinds.count('message')} messages, {EXAMPLE.stat().st_size:,} bytes, {sorted(set(kinds))}")


if __name__ == "__main__":
    main()
