"""Count a growing conversation: each message once, corrected by what its provider reports."""

import threading
from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse

from co_tui.context.measure.calibration import LEARNT_MARGIN, SOUND_SPAN_TOKENS, UNLEARNT_MARGIN, Calibration
from co_tui.context.measure.count import Reading, Scaffold, Window, estimate_message, system_tokens
from co_tui.context.measure.meter_state import Level, MeterState, Report, fixed_level
from co_tui.sendable_reply import sendable


class Meter:
    """Measures requests. `ratio` is the number of model tokens per estimated token, if known. `provider` selects the
    rules for file costs; without one, the most expensive apply. `margin` is the upper bound over the likely count
    before the first report; 1 if the estimate is final.

    Thread-safe: its state is one immutable value, which each change replaces as a whole.
    """

    def __init__(self, ratio: float | None = None, provider: str = "", *, margin: float | None = None) -> None:
        known = ratio is not None
        margin = margin or (LEARNT_MARGIN if known else UNLEARNT_MARGIN)
        calibration = Calibration(ratio or 1.0, known, margin=margin)
        self.provider = provider
        self._state = MeterState(calibration, calibration.line())
        self._replacing = threading.Lock()
        self._estimates: dict[int, tuple[ModelMessage, Level]] = {}
        """Cache by message identity. An estimate depends only on its message, so entries never change."""
        self._fixed: tuple[Scaffold | None, Level] = (None, Level())
        """The level of the scaffold that was measured last: its tools are counted once a request."""

    def _change(self, step: Callable[[MeterState], MeterState]) -> MeterState:
        """Replace the state with `step(state)`; retry if another thread replaced it in the meantime."""
        while True:
            before = self._state
            after = step(before)
            with self._replacing:
                if self._state is before:
                    self._state = after
                    return after

    # What is known about the model

    @property
    def ratio(self) -> float:
        return self._state.line.ratio

    @property
    def overhead(self) -> float:
        """What the provider adds to every request beyond what we see; negative if it counts less."""
        return self._state.line.overhead

    @property
    def learnt_ratio(self) -> float | None:
        """The ratio if it is worth keeping: learned over some span, not from one reply."""
        state = self._state
        return state.line.slope if state.calibration.learned_span_tokens >= SOUND_SPAN_TOKENS else None

    def as_json(self) -> dict[str, Any]:
        """What another process needs to continue counting."""
        state = self._state
        learnt: dict[str, Any] = dict(state.calibration.as_json())
        if learnt and state.last is not None:
            sent = state.sent.scaffold
            learnt |= {"report": list(state.last), "missed": list(state.missed), "tools": sent.tools_tokens}
            learnt |= {"tool_names": [*sent.tool_names], "instructions": sent.instructions_tokens}
        return learnt

    def restore(self, learnt: Mapping[str, Any]) -> Scaffold:
        """Continue from the output of `as_json`; returns what is known about the scaffold of those requests."""
        report, missed = _numbers(learnt.get("report"), 3), _numbers(learnt.get("missed"), 2)

        def restored(state: MeterState) -> MeterState:
            state = state.with_calibration(state.calibration.restored(learnt))
            state = state.with_report(Report(*report)) if report else state
            return state._replace(missed=(missed[0], missed[1])) if missed else state

        self._change(restored)
        (tools,), (instructions,) = (_numbers([learnt.get(key)], 1) or [0] for key in ("tools", "instructions"))
        names = learnt.get("tool_names")
        known = [name for name in names if isinstance(name, str)] if isinstance(names, list | tuple) else []
        return Scaffold(
            tools_estimate=max(0, tools),
            names=known,
            instructions_estimate=max(0, instructions),
            was_sent="tool_names" in learnt,
        )

    def copied(self) -> "Meter":
        """An independent copy with the same state."""
        other = Meter(provider=self.provider)
        other._state = self._state
        other._estimates = self._estimates.copy()
        return other

    def release(self, messages: Sequence[ModelMessage]) -> None:
        """Drop the counts of all other messages; the next measurement counts from the start."""
        state = self._change(lambda state: state.released(messages))
        live = {id(message) for message in (*messages, *state.sent.messages)}
        estimates = self._estimates.copy()  # another thread may add to it
        self._estimates = {key: estimated for key, estimated in estimates.items() if key in live}

    # Single messages

    def tokens(self, message: ModelMessage) -> float:
        """One message in the model's tokens, system parts included."""
        state = self._state
        return state.scaled(state.count_of(message, self._estimate))

    def set_exact(self, message: ModelMessage, tokens: int) -> None:
        """Replace our estimate of a message, system parts included, with an exact count."""
        self._change(lambda state: state.with_exact(message, tokens, self._estimate))

    def _estimate(self, message: ModelMessage) -> Level:
        """Our estimate of one message, cached."""
        found = self._estimates.get(id(message))
        if found is None or found[0] is not message:
            system = system_tokens(message)
            estimate = estimate_message(message, self.provider) + system
            found = (message, Level(estimate, 0, system, estimate))
            self._estimates[id(message)] = found
        return found[1]

    # Provider reports

    def sent(
        self, messages: Sequence[ModelMessage], scaffold: Scaffold, measured: Sequence[ModelMessage] | None = None
    ) -> None:
        """Remember the request, so that its report can be attributed; `measured` is a list of the same messages."""
        fixed = self._fixed_level(scaffold)

        def sent(state: MeterState) -> MeterState:
            same = len(messages) if state.read_last is measured else 0
            return state.after_sending(messages, scaffold, fixed, same, self._estimate)

        self._change(sent)

    def is_known(self, messages: Sequence[ModelMessage]) -> bool:
        """Whether these are the last request, with or without its reply: then no new measurement is needed."""
        sent = self._state.sent.messages
        answered = len(messages) == len(sent) + 1 and isinstance(messages[-1], ModelResponse)
        return (answered or len(messages) == len(sent)) and all(map(is_, messages, sent))

    def reported(self, response: ModelResponse) -> bool:
        """Learn from what the provider counted for the request sent last, and return whether the count is credible.
        A reply cut short has no count to trust."""
        credible = False

        def learned(state: MeterState) -> MeterState:
            nonlocal credible
            after = state.after_reply(response)
            credible = after.last is not state.last
            return after

        self._change(learned)
        return credible

    def refused(self, tokens: int) -> None:
        """The provider refused the last request and reported its length."""
        self._change(lambda state: state.after_refusal(tokens))

    # Measuring

    def read_reply(self, response: ModelResponse, scaffold: Scaffold, window: Window) -> Reading:
        """The context right after the reply to the last request, as its provider counts it, without what of the reply
        is not sent back."""

        def with_reply(state: MeterState) -> MeterState:
            messages = [*state.sent.messages, *sendable([response])]
            state = state._replace(totals=state.sent.totals, read_last=messages)
            return state.measured(messages, len(state.sent.messages), self._estimate)

        state = self._change(with_reply)
        return state.reading(state.read_last, self._fixed_level(scaffold), window, True, self._estimate)

    def read(
        self,
        messages: Sequence[ModelMessage],
        scaffold: Scaffold,
        window: Window,
        *,
        same: int = 0,
        as_reported: bool = False,
    ) -> Reading:
        """Measure a request. Its first `same` messages are those of the list measured last."""
        state = self._change(lambda state: state.measured(messages, same, self._estimate)._replace(read_last=messages))
        return state.reading(messages, self._fixed_level(scaffold), window, as_reported, self._estimate)

    def _fixed_level(self, scaffold: Scaffold) -> Level:
        known, level = self._fixed
        if known is not scaffold:
            level = fixed_level(scaffold)
            self._fixed = (scaffold, level)
        return level


def _numbers(stored: object, count: int) -> list[int]:
    """A list of exactly `count` integers, otherwise an empty list."""
    found = [each for each in stored if type(each) is int] if isinstance(stored, list | tuple) else []
    return found if len(found) == count else []
