"""What the policy does to each message of a request, and why."""

from collections.abc import Collection
from functools import cached_property
from typing import Final

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart

from co_tui.context.compact.decide import next_cut
from co_tui.context.compact.replacement import difference, first_and_last_texts
from co_tui.context.indexed_history import holds_system, is_replacement
from co_tui.context.policy import CompactionRule
from co_tui.context.request.pipeline import Governor
from co_tui.events.content import content_text
from co_tui.events.stored_messages import REPLACES
from co_tui.session.history.next_request import NextRequest
from co_tui.session.lens.request_rows import Fate, Judgement

_STAYS: Final = {
    CompactionRule.NONE: "This policy does not summarise.",
    CompactionRule.WINDOW: "Among the first or newest messages.",
    CompactionRule.TURNS: "In the newer half of the turns.",
    CompactionRule.COMPRESS: "In the newest turn.",
    CompactionRule.RUN: "In the newest step.",
    CompactionRule.PYTHON: "The policy's code keeps it.",
    CompactionRule.BACKGROUND: "Among the newest messages, kept verbatim.",
}


class Fates:
    """The fates of one request's messages, each computed when asked for."""

    def __init__(self, governor: Governor, following: NextRequest) -> None:
        self._governor = governor
        self._measured, self._plan = following.measured, following.plan
        self._is_full = following.prepared.truncation is not None

    def of(self, index: int, sent: ModelMessage) -> Judgement:
        """The fate of the measured message at an index, which is sent as `sent`."""
        live = self._measured.live[index]
        goes = index in self._going
        if index in self._measured.pinned:
            return Judgement(Fate.PINNED, "Never removed while pinned.")
        if (shortened := self._shortened(index, live, sent)) is not None:
            also = f" {self._when_summarised}" if goes else ""
            return shortened._replace(why=shortened.why + also, goes_next=goes)
        if goes:
            return Judgement(Fate.TO_BE_SUMMARISED, self._when_summarised, goes_next=True)
        return Judgement(Fate.KEPT, self._why_kept(index, live))

    @cached_property
    def _going(self) -> Collection[int]:
        """What the compaction before this request replaces, else the next one."""
        live, plan = self._measured.live, self._plan
        if plan is None and self._is_full:
            return ()  # no compaction comes, or it would come before messages are left out
        if plan is not None and plan.texts_only:
            return set(difference(live, first_and_last_texts(live)).replaced)
        cut = plan.cut if plan is not None else next_cut(self._governor.situation(self._measured))
        return set(cut.replaced) if cut is not None else ()

    @property
    def going_count(self) -> int:
        return len(self._going)

    @property
    def _when_summarised(self) -> str:
        plan = self._plan
        if plan is None:
            return "At the next compaction."
        if plan.texts_only:
            return "Before sending, only the first and last text of each turn are kept."
        return "Before the request is sent." if plan.waits else "In the background, with the next turn."

    def _shortened(self, index: int, live: ModelMessage, sent: ModelMessage) -> Judgement | None:
        if sent is live:
            return None
        before, after = self._measured.request[index], _result_chars(sent)
        if sent is not before and (was := _result_chars(live)) > after:
            return Judgement(Fate.TRIMMED, f"Clipped to fit the request: {after:,} of {was:,} characters.")
        if before is live:
            return None
        stages, chars = self._governor.stages.shortened_by(live), f"{after:,} of {_result_chars(live):,} characters"
        if "clear" in stages:
            return Judgement(Fate.TRIMMED, f"An older result, cleared: {chars}.")
        if "archive" in stages:
            return Judgement(Fate.ARCHIVED, f"The model sees a reference it can open: {chars}.")
        if "ends" in stages:
            return Judgement(Fate.TRIMMED, f"Only its beginning and end are kept: {chars}.")
        return Judgement(Fate.TRIMMED, f"Only its beginning is kept: {chars}.") if "trim" in stages else None

    def _why_kept(self, index: int, live: ModelMessage) -> str:
        if holds_system(live):
            return "System messages are always kept."
        if index == self._latest_prompt:
            return "The current prompt is always kept."
        if index in self._near_pins:
            return "Belongs to a pinned message."
        if is_replacement(live) and (count := _metadata(live)[REPLACES]):
            return f"Replaces {count:,} earlier message{'' if count == 1 else 's'}."
        return _STAYS[self._governor.policy.rule]

    @cached_property
    def _latest_prompt(self) -> int | None:
        return self._measured.live.latest_prompt

    @cached_property
    def _near_pins(self) -> Collection[int]:
        return self._measured.live.steps_around(self._measured.pinned)


def _metadata(message: ModelMessage) -> dict[str, object]:
    return (message.metadata or {}) if isinstance(message, ModelRequest) else {}


def _result_chars(message: ModelMessage) -> int:
    """The length of its tool results."""
    return sum(len(content_text(part.content)) for part in message.parts if isinstance(part, ToolReturnPart))
