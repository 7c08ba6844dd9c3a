"""Where a policy compacts, for each known model: the window, and the tokens at which it is reached."""

from typing import Final, NamedTuple

from co_tui.context.compact.thresholds import thresholds_of
from co_tui.context.measure.count import FALLBACK_WINDOW_TOKENS
from co_tui.context.policy import Policy
from co_tui.events.wording import percent

HEADER: Final = ("MODEL", "WINDOW", "CONVERSATION", "DELEGATES")
NO_LIMIT: Final = "–"


class ModelThresholds(NamedTuple):
    """One model; shares are of its window, None where the policy sets no limit in tokens."""

    model: str
    window_tokens: int
    window_known: bool
    conversation_share: float | None
    """At which the conversation is compacted."""
    delegation_share: float | None
    """At which a delegate's own steps are."""

    @property
    def conversation_tokens(self) -> int | None:
        return self._tokens(self.conversation_share)

    @property
    def delegation_tokens(self) -> int | None:
        return self._tokens(self.delegation_share)

    def _tokens(self, share: float | None) -> int | None:
        return None if share is None else round(share * self.window_tokens)

    def as_json(self) -> dict[str, object]:
        tokens = {"conversation_tokens": self.conversation_tokens, "delegation_tokens": self.delegation_tokens}
        return {**self._asdict(), **tokens}

    def cells(self) -> tuple[str, ...]:
        window = f"{self.window_tokens:,}{'' if self.window_known else ' (assumed)'}"
        shares = ((self.conversation_share, self.conversation_tokens), (self.delegation_share, self.delegation_tokens))
        return (self.model, window, *(f"{percent(share)}  {at:,}" if share else NO_LIMIT for share, at in shares))


def thresholds_by_model(policy: Policy, set_window: int = 0) -> list[ModelThresholds]:
    """For every known model, in the window that the settings give to all, if they do. Slow to import; run it in a
    thread."""
    from co_tui.agent.models.known_models import offered_windows

    return [_thresholds(policy, model, set_window or tokens) for model, tokens in offered_windows().items()]


def _thresholds(policy: Policy, model: str, window_tokens: int | None) -> ModelThresholds:
    tokens = window_tokens or FALLBACK_WINDOW_TOKENS
    main, delegate = (thresholds_of(each, tokens).share for each in (policy, policy.for_delegation()))
    return ModelThresholds(model, tokens, window_tokens is not None, main, delegate)
