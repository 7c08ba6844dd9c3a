"""Conversations that are trees: each message names the one before it, and edits and new replies begin branches."""

from collections.abc import Iterator, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")
ROOT: Final = ""
"""The parent of what begins the conversation."""


class Node(NamedTuple, Generic[T]):
    """A record of a file, and where it is in the tree."""

    id: str
    """Empty when it has none."""
    parent: str | None
    """Empty for what begins the conversation; None when it is not known."""
    record: T


def parents_first(nodes: Sequence[Node[T]]) -> Iterator[Node[T]]:
    """Each node once, behind its parent, else in the order of the file. A cycle begins with its first node there."""
    numbers: dict[str, int] = {}
    for number, node in enumerate(nodes):
        numbers.setdefault(node.id, number)
    numbers.pop("", None)
    done = [False] * len(nodes)
    waiting: dict[int, list[int]] = {}

    def released(number: int) -> Iterator[Node[T]]:
        """The node and those that waited for it."""
        ready = [number]
        while ready:
            number = ready.pop()
            if not done[number]:
                done[number] = True
                yield nodes[number]
                ready += reversed(waiting.pop(number, []))

    for number, node in enumerate(nodes):
        parent = numbers.get(node.parent or "", number)
        if done[parent] or parent == number:
            yield from released(number)
        else:
            waiting.setdefault(parent, []).append(number)
    for number in range(len(nodes)):
        path: dict[int, None] = {}
        while not done[number] and number not in path:
            path[number] = None
            number = numbers.get(nodes[number].parent or "", number)
        if number in path:
            cycle = list(path)[list(path).index(number) :]
            yield from released(min(cycle))
