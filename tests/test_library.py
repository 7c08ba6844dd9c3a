"""The session as a library, by the help page's own programs."""

import json
import re
from collections.abc import Callable
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import co_tui.help
from co_tui.library import (
    ApprovalQuestion,
    ModelQuestion,
    Outcome,
    PromptRefused,
    SettingsError,
    StreamDelta,
    TurnEnded,
    open_session,
    turn_events,
)
from tests.support.command import CliCommand
from tests.support.provider import Provider, Reply
from tests.support.waiting import PATIENCE_S

PAGE = Path(co_tui.help.__file__).parent / "scripts.md"


PROGRAMS = [
    each for each in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "co_tui.library" in each
]
NOTE = ("write_file", json.dumps({"path": "notes.txt", "content": "herons\n"}))
WHICH = {"question": "Which bird?", "header": "Bird", "options": [{"label": "heron"}, {"label": "crane"}]}
ASK = ("ask_user_question", json.dumps({"questions": [WHICH]}))
RUN = ("run_command", json.dumps({"command": "make birds"}))


@pytest.fixture
def served(served: CliCommand) -> CliCommand:
    """With a window that has room for the tools."""
    served.environ["CO_TUI_CONTEXT_WINDOW"] = "32000"
    return served


def results(provider: Provider) -> list[str]:
    """What the tools returned to the model."""
    return [each["content"] for each in provider.requests[-1]["messages"] if each["role"] == "tool"]


def printed(served: CliCommand, program: str) -> list[str]:
    process = served.start_loaded(code=program)
    out, err = process.communicate(PATIENCE_S)
    assert process.wait() == 0 and err == "", err
    return out.splitlines()


def test_the_programs_of_the_readme_run(served: CliCommand, provider: Provider) -> None:
    streaming, answering, with_tools = PROGRAMS
    words = "About herons. " * 400
    provider.script = [
        Reply(text="", tool=("list_directory", json.dumps({"path": "."}))),
        Reply(text=words),
        Reply(text=words),
    ]
    listed, said = printed(served, streaming)
    assert (listed.strip(), said.strip()) == ("[list_directory]", words.strip())

    provider.script = [Reply(text="One."), Reply(text="", tool=ASK), Reply(text="A heron."), Reply(text="", tool=NOTE)]
    provider.script += [Reply(text="Added."), Reply(text="", tool=RUN), Reply(text="I cannot."), Reply(text="Five.")]
    assert printed(served, answering) == [f"{turn} done" for turn in range(1, 6)]
    chosen, written, refused = results(provider)
    assert json.loads(chosen) == {"Bird": ["heron"]} and (served.cwd / "notes.txt").read_text() == "herons\n"
    assert "notes.txt" in written and "This script only lets files be written." in refused

    provider.script = [Reply(text="", tool=("stock", json.dumps({"article": "herons"}))), Reply(text="Three.")]
    (line,) = printed(served, with_tools)
    assert line.endswith("Outcome.DONE") and results(provider) == ["3"]
    assert "Answer in one sentence." in provider.requests[-1]["messages"][0]["content"]


async def test_a_turn_that_is_left_is_interrupted_and_one_that_is_refused_raises(
    served: CliCommand, provider: Provider
) -> None:
    provider.script = [Reply(text="Half of it", open_end=True)]
    async with open_session(served.cwd, environ=served.environ) as session:
        async with aclosing(turn_events(session, "Hello")) as events:
            async for event in events:
                if isinstance(event.fact, StreamDelta):
                    break
        seen = [event.fact async for event in turn_events(session, "And now?")]
        assert isinstance(seen[-1], TurnEnded) and (seen[-1].turn, seen[-1].outcome) == (2, "done")
        with pytest.raises(ValueError, match="empty"):
            await anext(aiter(turn_events(session, " ")))


async def test_a_session_is_resumed_by_its_id_and_bad_settings_are_a_sentence(
    served: CliCommand, provider: Provider
) -> None:
    async with open_session(served.cwd, environ=served.environ) as session:
        await session.submit("Remember the heron")
    async with open_session(served.cwd, session_id=session.id, environ=served.environ) as again:
        await again.submit("What was it?")
    asked = [message["content"] for message in provider.requests[-1]["messages"] if message["role"] == "user"]
    assert asked == ["Remember the heron", "What was it?"]
    wrong: dict[str, Any] = {"max_retries": "many", "anwser": None, "add_dirs": ["nothing"]}
    for name, value in wrong.items():
        with pytest.raises(SettingsError, match=name):
            async with open_session(served.cwd, environ=served.environ, **{name: value}):
                pass


def read_file(path: str) -> str:
    return path


def doubled(number):  # type: ignore[no-untyped-def]
    return number * 2


async def test_functions_that_cannot_be_tools_are_a_sentence_and_groups_are_the_setting(
    served: CliCommand, provider: Provider
) -> None:
    wrong: dict[str, Callable[..., Any]] = {
        "read_file is the name of a built-in tool": read_file,
        "two functions are named doubled": doubled,
        "the arguments of results cannot be described": results,
        "<lambda> has no name": lambda: 0,
        "partial has no name": partial(doubled, 2),
    }
    for sentence, function in wrong.items():
        with pytest.raises(SettingsError, match=f"^tools: .*{sentence}"):
            async with open_session(served.cwd, environ=served.environ, tools=[doubled, function]):
                pass
    for given, groups in ((["files"], ("files",)), ([], ()), ([doubled, "files"], ("files",))):
        async with open_session(served.cwd, environ=served.environ, tools=given) as session:  # type: ignore[arg-type]
            assert session.settings.tools == groups
    provider.script = [Reply(text="", tool=("doubled", json.dumps({"number": 4}))), Reply(text="Eight.")]
    async with open_session(served.cwd, environ=served.environ, tools=[doubled]) as session:
        assert await session.submit("Double four") is Outcome.DONE and "files" in session.settings.tools
    assert results(provider) == ["8"]


async def test_what_the_callback_raises_reaches_the_script_and_two_iterators_do_not_mix(
    served: CliCommand, provider: Provider
) -> None:
    provider.script = [
        Reply(text="", tool=NOTE),
        Reply(text="", tool=ASK),
        Reply(text="Undecided."),
        Reply(text="Yes."),
    ]

    def answer(question: ApprovalQuestion | ModelQuestion) -> bool:
        raise LookupError(type(question).__name__)

    async with open_session(served.cwd, environ=served.environ, answer=answer) as session:
        with pytest.raises(LookupError, match="ApprovalQuestion"):
            async for _ in turn_events(session, "Write"):
                with pytest.raises(PromptRefused, match="another turn_events of this session is running"):
                    await anext(turn_events(session, "At the same time"))
        assert not session.state.pending and not (served.cwd / "notes.txt").exists()
        with pytest.raises(LookupError, match="ModelQuestion"):
            await session.submit("Ask")
        assert "declined to answer" in results(provider)[-1]
        async for _ in turn_events(session, "Still there?"):
            break
        facts = [event.fact async for event in turn_events(session, "And now?")]
        assert isinstance(facts[-1], TurnEnded) and facts[-1].outcome == "done"
