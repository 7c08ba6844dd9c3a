"""Failures of a store, each a sentence that says what and where."""


class StoreError(Exception):
    """The store cannot be used and was left unchanged; the text is for people."""


class SessionNotFound(StoreError):
    """No session, or more than one, matches the name."""


class SessionTakenOver(StoreError):
    """Another process continues the session that this one had."""


class QueryCancelled(StoreError):
    """The query was cancelled."""

    def __init__(self) -> None:
        super().__init__("The search was cancelled.")


class SessionBusy(StoreError):
    """Another process holds this session."""

    def __init__(self, sentence: str, owner: str = "") -> None:
        super().__init__(sentence)
        self.owner = owner
        """The process id, if known."""
