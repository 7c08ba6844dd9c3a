"""Sessions against the local provider that talk long enough to need compaction."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from co_tui.agent.models.open_model import ModelConfig, open_model
from co_tui.events import CompactionComplete, Message
from co_tui.session.approvals.questions import Unattended
from co_tui.session.environment import Environment
from co_tui.session.session import Session
from co_tui.session.state.session_state import SessionState
from co_tui.session.turns.turn import Outcome
from tests.support.environments import environment_for
from tests.support.provider import Provider, Reply

MODEL = "openai-chat:scripted"
LONG = Reply(text="An answer about src/module.py and the function. " * 10, prompt_tokens=-1, completion_tokens=110)
GOOD = Reply(
    text="Title: Function talk\n## Decisions and outcomes\n"
    "- The question about src/module.py and the function was answered.",
    prompt_tokens=900,
    completion_tokens=60,
)
"""A summary of a talk that consists of such answers."""


def served_environment(home: Path, provider: Provider, **settings: Any) -> Environment:
    tools = settings.pop("tools", None)
    questions = settings.pop("questions", None) or Unattended()
    backoff_s = settings.pop("backoff_s", None)
    environment = environment_for(home, tools=tools, **settings)
    config = ModelConfig(environ={}, fetched_models=home, base_url=provider.url)
    environment.open_model = lambda name: open_model(name, config)
    environment.questions = questions
    if backoff_s is not None:
        environment.first_backoff_s = backoff_s
    return environment


@asynccontextmanager
async def talking(home: Path, provider: Provider, **settings: Any) -> AsyncIterator[Session]:
    """A session whose model is the local provider, closed at the end."""
    environment = settings.pop("environment", None) or served_environment(home, provider, **settings)
    session = await Session.start(environment, MODEL)
    try:
        yield session
    finally:
        if not session.state.ended:
            await session.close()
        environment.store.close()


async def talk(session: Session, turns: int, words: int = 30) -> None:
    for n in range(turns):
        assert await session.submit(_question(session.state.turn + 1, words)) is Outcome.DONE, n


async def fill(session: Session, turns: int, words: int = 30) -> None:
    """A talk whose first and last turns are had; those between them are logged as the first was."""
    await talk(session, 1, words)
    asked, reply = (entry.message for entry in list(session.state.transcript)[-2:])
    said: list[Message] = []
    for number in range(session.state.turn + 1, session.state.turn + turns - 1):
        prompt = {**asked["parts"][0], "content": _question(number, words)}
        said += (Message(turn=number, message=each) for each in ({**asked, "parts": [prompt]}, dict(reply)))
    await session._recorder.record(*said)
    await talk(session, 1, words)


def _question(number: int, words: int) -> str:
    return f"Question {number}: what about function_{number}? " + "more words " * words


async def use_window(session: Session, tokens: int) -> None:
    """Set the window, as its user would."""
    await session.switcher.apply_settings(session.settings.but(context_window=tokens))


def compactions(state: SessionState) -> list[CompactionComplete]:
    return [event.fact for event in state.timeline if isinstance(event.fact, CompactionComplete)]
