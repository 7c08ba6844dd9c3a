"""A prompt stays on the screen from when it is sent until the conversation shows it."""

from co_tui.events import CommandOutput, Message, StreamDelta
from co_tui.ui.control.prompts_under_way import OutgoingPrompt, PromptsUnderWay


def said(text: str, agent: str = "") -> Message:
    part = {"part_kind": "user-prompt", "content": text}
    return Message(turn=1, message={"kind": "request", "parts": [part]}, agent=agent)


def test_each_prompt_leaves_when_it_is_said() -> None:
    under_way = PromptsUnderWay()
    first, second, third = (OutgoingPrompt(text) for text in ("first one", "second one", "!ls"))
    for prompt in (first, second, third):
        under_way.add(prompt)
    assert under_way.not_in(["second one"]) == ["first one", "!ls"], "what is queued is shown as queued"
    assert not under_way.remove_said(StreamDelta(turn=1, part=0, kind="text", text="first"))
    assert not under_way.remove_said(said("first one", agent="a-1")), "said to a delegate"
    assert under_way.remove_said(said("second one"))
    assert under_way.remove_said(CommandOutput(command="ls", text=""))
    assert under_way.remove_said(said("stored in other words")) and under_way.not_in(()) == []
    assert not under_way.remove(first) and not under_way.remove_said(said("first one"))


def test_the_same_prompt_twice_is_shown_twice() -> None:
    under_way = PromptsUnderWay()
    under_way.add(OutgoingPrompt("again"))
    under_way.add(OutgoingPrompt("again"))
    assert under_way.not_in(["again"]) == ["again"]
    assert under_way.remove_said(said("again")) and under_way.not_in(()) == ["again"]
