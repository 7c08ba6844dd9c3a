"""Why a conversation is made smaller (E5), and what follows from it."""

from enum import Flag, StrEnum, auto


class _Trait(Flag):
    AUTOMATIC = auto()
    MUST_FREE = auto()
    EMERGENCY = auto()
    BY_ANSWERING_MODEL = auto()


_NONE = _Trait(0)
_ON_ITS_OWN = _Trait.AUTOMATIC | _Trait.MUST_FREE


class Trigger(StrEnum):
    """Each with its words for people; without any, how full the window is says enough."""

    MANUAL = "manual", "you asked for it", _Trait.BY_ANSWERING_MODEL
    BACKGROUND = "background", "", _ON_ITS_OWN
    BLOCKING = "blocking", "", _ON_ITS_OWN
    WINDOW = "window", "the window of messages is full", _Trait.AUTOMATIC
    TURNS = "turns", "there are too many turns", _Trait.AUTOMATIC
    BUDGET = "budget", "the token budget is used up", _Trait.AUTOMATIC
    CONTEXT_LIMIT = "context_limit", "the model refused the length", _Trait.EMERGENCY
    MODEL_SWITCH = "model_switch", "before the model changes", _Trait.BY_ANSWERING_MODEL
    MEMORY_PRESSURE = "memory_pressure", "little memory is left", _Trait.EMERGENCY
    MODEL_REQUEST = "model_request", "the model asked for it"
    PROVIDER = "provider", "the provider did it"

    words: str
    _traits: _Trait

    def __new__(cls, value: str, words: str = "", traits: _Trait = _NONE) -> "Trigger":
        member = str.__new__(cls, value)
        member._value_ = value
        member.words = words
        member._traits = traits
        return member

    @property
    def is_automatic(self) -> bool:
        """It comes from the policy, not from a person or an emergency."""
        return _Trait.AUTOMATIC in self._traits

    @property
    def must_free(self) -> bool:
        """Such a compaction is only worth it when it frees a tenth of the conversation."""
        return _Trait.MUST_FREE in self._traits

    @property
    def is_emergency(self) -> bool:
        """It comes in the middle of a turn: the turn's prompt and last step stay, if that is enough."""
        return _Trait.EMERGENCY in self._traits

    @property
    def is_summarised_by_answering_model(self) -> bool:
        """Others leave it to the model that is set for summaries, if any."""
        return _Trait.BY_ANSWERING_MODEL in self._traits


def words_for(trigger: str) -> str:
    """The words of a trigger as it stands in the log; none for one of a newer version."""
    try:
        return Trigger(trigger).words
    except ValueError:
        return ""
