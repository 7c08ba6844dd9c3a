"""What models are called on the screen."""

import pytest
from pydantic_ai.exceptions import ModelConnectionError

from co_tui.agent.wire.request_failures import RequestTarget, read_failure
from co_tui.events import CompactionComplete, ModelChange
from co_tui.events.model_names import answering_name, model_name, short_name
from co_tui.ui.chat.title_line import TitleFacts, title_line

SERVED = "openai-chat:walker@http://127.0.0.1:8765/v1"


@pytest.mark.parametrize(
    ("model", "name", "short", "answering"),
    [
        (SERVED, "walker", "walker @ 127.0.0.1:8765", "walker"),
        ("openai-chat:org/tiny:8b@https://host/v1", "tiny:8b", "org/tiny:8b @ host", "tiny:8b"),
        ("openai-chat:", "openai-chat", "openai-chat:", "openai-chat"),
        ("anthropic:claude-sonnet-5", "claude-sonnet-5", "anthropic:claude-sonnet-5", "anthropic"),
        ("openrouter:org/claude-5", "claude-5", "openrouter:org/claude-5", "openrouter"),
        ("ollama:qwen3:8b", "qwen3:8b", "ollama:qwen3:8b", "ollama"),
        ("gguf:/models/tiny.gguf", "tiny.gguf", "gguf:tiny.gguf", "tiny.gguf"),
        ("embedded", "embedded", "embedded", "embedded"),
    ],
)  # fmt: skip
def test_a_model_is_called_by_its_name(model: str, name: str, short: str, answering: str) -> None:
    assert (model_name(model), short_name(model), answering_name(model)) == (name, short, answering)


@pytest.mark.parametrize("room", [41, 78, 118])
def test_the_title_names_a_served_model_at_every_width(room: int) -> None:
    line = str(title_line(TitleFacts("A session", SERVED, "balanced", "main", "high"), room))
    assert "walker" in line and "v1" not in line and line.split()[-1] != "8765"


def test_timeline_chat_and_errors_call_a_served_model_by_its_name() -> None:
    assert ModelChange(from_="embedded", to=SERVED).timeline_text() == "model → walker"
    compacted = CompactionComplete(success=True, summarised_by=SERVED, replaced=((1, 0),), pre_tokens=9, post_tokens=3)
    assert "1 message summarised by walker." in compacted.outcome_sentence()
    error = ModelConnectionError("walker", "no route", phase="connect")
    failure = read_failure(error, RequestTarget(SERVED, "http://127.0.0.1:8765/v1"))
    assert failure.sentence.startswith("Cannot reach walker at http://127.0.0.1:8765/v1: ")
    assert failure.sentence.count("8765") == 1
