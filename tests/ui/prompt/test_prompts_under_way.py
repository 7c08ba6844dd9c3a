"""A prompt stays on the screen from when it is sent until the conversation shows it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any
from unittest.mock import Mock

import pytest

from co_tui.events import CommandOutput, Message, StreamDelta
from co_tui.ui.control.prompt_sender import PromptSender, WaitingCommand
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


async def test_the_prompt_of_a_command_comes_before_what_waits_behind_it_and_steering_waits_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent, running, may_end = list[str](), list[asyncio.Future[None]](), asyncio.Event()

    async def submit(text: str, **_: object) -> None:
        sent.append(text)

    async def work() -> None:
        await may_end.wait()
        sender.run_next(OutgoingPrompt("by the command"))

    def run(_: object, __: str, work: Callable[[], Coroutine[Any, Any, None]], **___: object) -> None:
        running.append(asyncio.ensure_future(work()))

    monkeypatch.setattr("co_tui.ui.control.prompt_sender.run_in_background", run)
    session = Mock(submit=submit, queue=Mock(prompts=(), busy=False))
    opener = Mock(session=session, opening=False)
    sender = PromptSender(Mock(), Mock(), opener)
    sender.hold(WaitingCommand("/init", work))
    sender.send(OutgoingPrompt("behind it"))
    sender.send(OutgoingPrompt("steering", steers=True))
    await running[1]
    assert sent == ["steering"]
    may_end.set()
    await running[0]
    await asyncio.gather(*running)
    assert sent == ["steering", "by the command", "behind it"]
