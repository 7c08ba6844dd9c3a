"""The list of what the sources describe: every test of this folder adds its sentences, and the help shows them."""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

Test = TypeVar("Test", bound=Callable[..., object])

SEEDS: Final = ("co-cli", "inkeep", "copilot", "cowagent")


class Behaviour(NamedTuple):
    """One thing that a source describes, and the test that fails if it does not hold."""

    seed: str
    sentence: str
    where: str
    """The part of the source."""
    differs: str
    """Why it is not as in the source; empty if it is."""
    test: str


BEHAVIOURS: Final[list[Behaviour]] = []


def says(seed: str, where: str, *sentences: str, differs: str = "") -> Callable[[Test], Test]:
    """What a test shows of a source, in sentences for the help."""

    def add(test: Test) -> Test:
        BEHAVIOURS.extend(Behaviour(seed, each, where, differs, test.__qualname__) for each in sentences)
        return test

    return add


def shown_elsewhere(seed: str, where: str, test: str, *sentences: str, differs: str = "") -> None:
    """The same for a test of another folder, which shows it under any policy: `folder/file.py::test`."""
    BEHAVIOURS.extend(Behaviour(seed, each, where, differs, test) for each in sentences)
