"""Immutable sequences that grow without copying their items."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class _FrozenSequence(Sequence[T], Generic[T]):
    """Compared by content, never hashed."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _FrozenSequence | list | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)!r})"


class AppendOnly(_FrozenSequence[T]):
    """A frozen sequence whose `append` shares storage with the original.

    Each instance sees only its own first `len` items, so an older one never changes. Appending to the
    newest costs O(1); appending to an older one copies. So a pure function can add to a history at a cost that does
    not depend on its length.
    """

    __slots__ = ("_items", "_length")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = list(items)
        self._length = len(self._items)

    def append(self, item: T) -> "AppendOnly[T]":
        """Return a sequence with `item` at its end; this one is unchanged."""
        return self.extend((item,))

    def extend(self, more: Sequence[T]) -> "AppendOnly[T]":
        """Return a sequence with all of `more` at its end; this one is unchanged."""
        # An empty one may be a shared default: whatever grows from it needs its own storage.
        is_newest = self._length and self._length == len(self._items)
        items = self._items if is_newest else self._items[: self._length]
        items.extend(more)
        grown: AppendOnly[T] = AppendOnly.__new__(AppendOnly)
        grown._items = items
        grown._length = self._length + len(more)
        return grown

    def swap(self, equal: Callable[[T], T], until: Callable[[T], bool] = lambda _: False) -> bool:
        """Exchange items for equal ones, here and in all sequences that share the storage: from the last back to the
        first that was exchanged before, by `until`. Returns whether any was."""
        is_any = False
        for index in range(self._length - 1, -1, -1):
            item = self._items[index]
            if until(item):
                break
            other = equal(item)
            if other is not item:
                self._items[index], is_any = other, True
        return is_any

    @property
    def lineage(self) -> object:
        """The same object for all sequences that grew from each other by appending."""
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
        return islice(self._items, self._length)


class Joined(_FrozenSequence[T]):
    """A frozen sequence made of a shared beginning and its own end."""

    __slots__ = ("_beginning", "_end")

    def __init__(self, beginning: AppendOnly[T], end: Iterable[T]) -> None:
        self._beginning = beginning
        self._end = tuple(end)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        border = len(self._beginning)
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return [self[position] for position in range(start, stop, step)]
            return [*self._beginning[start:stop], *self._end[max(0, start - border) : max(0, stop - border)]]
        if index < 0:
            index += len(self)
        return self._beginning[index] if index < border else self._end[index - border]

    def __len__(self) -> int:
        return len(self._beginning) + len(self._end)

    def __iter__(self) -> Iterator[T]:
        return chain(self._beginning, self._end)
