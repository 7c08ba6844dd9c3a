"""The lab counts messages that a provider would refuse among the broken invariants."""

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ThinkingPart, UserPromptPart

from co_tui.context.indexed_history import EARLIER
from co_tui.lab.check import breaches

SAID = ModelResponse(parts=[ThinkingPart("hm", signature="c2ln"), TextPart("said")])
ALONE = ModelResponse(parts=[ThinkingPart("hm", signature="c2ln")])


def test_a_reply_of_thinking_alone_is_not_sent_and_a_blank_text_is_refused() -> None:
    first, second, third, blank = (
        ModelRequest(parts=[UserPromptPart(each)]) for each in ("one", "two", "three", " \n")
    )
    sound: list[ModelMessage] = [first, SAID, second, ALONE, third]
    assert breaches(sound, sound, fits=True) == []
    broken: list[ModelMessage] = [first, SAID, blank]
    refused = ["G12 refused by anthropic", "G12 refused by bedrock"]
    assert breaches([first, SAID], broken, fits=True)[-2:] == refused, "a stage made it"
    assert breaches(broken, broken, fits=True) == [], "it was said so"


def test_a_prompt_that_quotes_a_summary_is_sent_whole() -> None:
    quoted = [ModelRequest(parts=[UserPromptPart(f"{EARLIER}\nwhat does this mean?")])]
    assert breaches(quoted, quoted, fits=True) == []
