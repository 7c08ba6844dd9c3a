"""Patterns about wordings, written so that one can read them."""

import re

WORD_REST = r"\w{0,20}"
"""Bounded, as every repetition here: a reply may be one word of a megabyte."""


def phrase(text: str) -> str:
    """A pattern from a phrase: a blank is one space, `~` the rest of a word, `#` a number, `…` more of the sentence."""
    return (
        text.replace(" ", r"\s")
        .replace("~", WORD_REST)
        .replace("#", r"\d{1,12}")
        .replace("…", r"(?:[^.]|\.(?=\d)){0,120}?")  # a dot in a number or a name ends no sentence
    )


def any_of(*phrases: str) -> str:
    """A pattern for any of the phrases."""
    return "(?:" + "|".join(map(phrase, phrases)) + ")"


def pattern(*phrases: str) -> re.Pattern[str]:
    """The compiled form of any of the phrases."""
    return re.compile(any_of(*phrases))
