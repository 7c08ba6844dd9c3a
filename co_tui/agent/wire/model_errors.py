"""Exceptions about models and their replies."""


class ModelUnusable(Exception):
    """The model cannot be used. The text is a sentence that names the model, variable or address."""


class KeyMissing(ModelUnusable):
    """The model's provider needs a key, and there is none."""


class FormRefused(Exception):
    """The provider refused a request for its form; the next one is sent without the offending part."""

    def __init__(self, refusal: Exception, left_out: str) -> None:
        super().__init__(str(refusal))
        self.left_out = left_out
        self.body = getattr(refusal, "body", None)
        self.status_code = getattr(refusal, "status_code", None)


class BadReply(Exception):
    """Something is wrong with a reply; the text says what."""


class ReplyUnreadable(BadReply):
    """A malformed reply."""


class ReplyCutOff(BadReply):
    """A reply that stopped before its end."""


class ReplyTooLong(BadReply):
    """A reply that was stopped because it exceeds our limit."""

    def __init__(self, limit: str) -> None:
        super().__init__(f"it is longer than {limit}.")


def kind_of(value: object) -> str:
    """The JSON type of a value, for a sentence."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"
