"""What triggers a compaction (E5), and what follows from that."""

from enum import Flag, StrEnum, auto


class _Trait(Flag):
    AUTOMATIC = auto()
    MUST_FREE = auto()
    EMERGENCY = auto()
    BY_ANSWERING_MODEL = auto()


_NONE = _Trait(0)
_ON_ITS_OWN = _Trait.AUTOMATIC | _Trait.MUST_FREE


class Trigger(StrEnum):
    """Each with its label; an empty one where the fill level explains enough."""

    MANUAL = "manual", "requested by you", _Trait.BY_ANSWERING_MODEL
    BACKGROUND = "background", "", _ON_ITS_OWN
    BLOCKING = "blocking", "", _ON_ITS_OWN
    WINDOW = "window", "too many messages", _Trait.AUTOMATIC
    TURNS = "turns", "too many turns", _Trait.AUTOMATIC
    BUDGET = "budget", "token budget reached", _Trait.AUTOMATIC
    CONTEXT_LIMIT = "context_limit", "request too long for the model", _Trait.EMERGENCY
    MODEL_SWITCH = "model_switch", "before switching models", _Trait.BY_ANSWERING_MODEL
    MEMORY_PRESSURE = "memory_pressure", "low memory", _Trait.EMERGENCY
    MODEL_REQUEST = "model_request", "requested by the model"
    PROVIDER = "provider", "done by the provider"

    label: str
    _traits: _Trait

    def __new__(cls, value: str, label: str = "", traits: _Trait = _NONE) -> "Trigger":
        member = str.__new__(cls, value)
        member._value_ = value
        member.label = label
        member._traits = traits
        return member

    @property
    def is_automatic(self) -> bool:
        """The policy triggers it, not a person or an emergency."""
        return _Trait.AUTOMATIC in self._traits

    @property
    def must_free(self) -> bool:
        """Only worthwhile if it frees a tenth of the conversation."""
        return _Trait.MUST_FREE in self._traits

    @property
    def is_emergency(self) -> bool:
        """Happens in the middle of a turn: keeps the turn's prompt and last step if that frees enough."""
        return _Trait.EMERGENCY in self._traits

    @property
    def is_summarised_by_answering_model(self) -> bool:
        """Others use the model configured for summaries, if any."""
        return _Trait.BY_ANSWERING_MODEL in self._traits


def trigger_label(trigger: str) -> str:
    """The label of a logged trigger; empty for one of a newer version."""
    try:
        return Trigger(trigger).label
    except ValueError:
        return ""
