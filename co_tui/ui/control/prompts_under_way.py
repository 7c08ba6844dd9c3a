"""Prompts given to the session that are not part of the conversation yet: they stay on the screen until they are."""

from collections.abc import Iterable
from typing import NamedTuple

from co_tui.events import CommandOutput, Fact, Message
from co_tui.events.stored_messages import Span, command_in, prompt_of
from co_tui.session.file_references import NamedFile


class OutgoingPrompt(NamedTuple):
    """A prompt on its way to the session."""

    text: str
    files: tuple[NamedFile, ...] = ()
    steers: bool = False
    pasted: tuple[Span, ...] = ()
    """The parts of the text that were pasted and folded."""


class PromptsUnderWay:
    """In the order in which they were given."""

    def __init__(self) -> None:
        self._prompts: list[OutgoingPrompt] = []

    def add(self, prompt: OutgoingPrompt) -> None:
        self._prompts.append(prompt)

    def remove(self, prompt: OutgoingPrompt) -> bool:
        """Whether it was under way."""
        left = [each for each in self._prompts if each is not prompt]
        changed, self._prompts = len(left) < len(self._prompts), left
        return changed

    def forget_all(self) -> None:
        self._prompts = []

    def remove_said(self, fact: Fact) -> bool:
        """Remove the prompt or command that an event makes part of the conversation; False if it makes none so.

        One that was stored in other words is the oldest: prompts are sent in order.
        """
        said = _first_word(_text_of(fact)) if self._prompts else ""
        if not said:
            return False
        return self.remove(next((each for each in self._prompts if _first_word(each.text) == said), self._prompts[0]))

    def not_in(self, queued: Iterable[str]) -> list[str]:
        """The texts of those that the session's queue does not hold."""
        others, texts = list(queued), list[str]()
        for each in self._prompts:
            if each.text in others:
                others.remove(each.text)
            else:
                texts.append(each.text)
        return texts


def _text_of(fact: Fact) -> str:
    """What the user wrote, if the event shows it in the conversation."""
    match fact:
        case CommandOutput(command=command):
            return f"!{command}"
        case Message(message=message, agent=""):
            command = command_in(message)
            return f"!{command}" if command else prompt_of(message) or ""
        case _:
            return ""


def _first_word(text: str) -> str:
    """Enough to tell prompts apart that are sent at the same time."""
    return next(iter(text.split(maxsplit=1)), "")
