"""Failures of a store, each a sentence that says what and where."""


class StoreError(Exception):
    """What is kept cannot be used; the text is for people. It is left as it is."""


class SessionNotFound(StoreError):
    """No session, or no single one, answers to that name."""


class SessionBusy(StoreError):
    """Somebody else is writing this session."""

    def __init__(self, sentence: str, owner: str = "") -> None:
        super().__init__(sentence)
        self.owner = owner
        """The number of the process, where that is known."""
