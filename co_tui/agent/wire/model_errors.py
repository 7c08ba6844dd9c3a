"""What models do wrong, as exceptions of our own."""


class ModelUnusable(Exception):
    """The model cannot be used at all. The text is a sentence for people: which name, variable or address."""


class BadReply(Exception):
    """Something is wrong with a reply; the text says what."""


class ReplyUnreadable(BadReply):
    """A reply that makes no sense."""


class ReplyCutOff(BadReply):
    """A reply that stopped before its end: what came of it is not the whole."""


class ReplyTooLong(BadReply):
    """A reply beyond anything a model is known to write; it was stopped."""

    def __init__(self, limit: str) -> None:
        super().__init__(f"it is longer than {limit}.")


def kind_of(value: object) -> str:
    """What a value of a reply is, in the words of JSON."""
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
