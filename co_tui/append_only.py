"""An immutable sequence that grows in constant time."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class AppendOnly(Sequence[T], Generic[T]):
    """A frozen sequence whose `append` shares storage with the original.

    Each instance sees only its own first `len` items, so an older one never changes. Appending to the
    newest costs O(1); appending to an older one copies. This is what lets `apply` stay pure without a
    session's length showing in the cost of an event.
    """

    __slots__ = ("_items", "_length")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = list(items)
        self._length = len(self._items)

    def append(self, item: T) -> "AppendOnly[T]":
        """A sequence with `item` at its end; this one stays as it is."""
        items = self._items if self._length == len(self._items) else self._items[: self._length]
        items.append(item)
        grown: AppendOnly[T] = AppendOnly.__new__(AppendOnly)
        grown._items = items
        grown._length = self._length + 1
        return grown

    @property
    def lineage(self) -> object:
        """The same object for all sequences of which one is the beginning of the other, by appending."""
        return self._items

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return self._items[slice(*index.indices(self._length))]
        if index < 0:
            index += self._length
        if not 0 <= index < self._length:
            raise IndexError(index)
        return self._items[index]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        for index in range(self._length):
            yield self._items[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AppendOnly | list | tuple):
            return NotImplemented
        return self._length == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"AppendOnly({self._items[: self._length]!r})"
