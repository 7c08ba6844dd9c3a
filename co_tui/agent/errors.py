"""Why a model cannot be used at all."""


class ModelUnusable(Exception):
    """The text is a sentence for people: which name, variable or address, and what to do."""
