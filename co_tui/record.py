"""Frozen records that are cheap to define.

The first paint imports some forty record classes. A frozen dataclass takes a millisecond to define, because it compiles
methods for each class; records share theirs.
"""

from types import MappingProxyType
from typing import Any, ClassVar, Self, dataclass_transform


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Record:
    """Base of immutable records with keyword-only fields, declared as in a dataclass."""

    FIELDS: ClassVar[MappingProxyType[str, Any]] = MappingProxyType({})
    """Field name → annotation, in declaration order."""
    REQUIRED: ClassVar[frozenset[str]] = frozenset()
    _defaults: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        own = {
            name: hint
            for name, hint in cls.__annotations__.items()
            if getattr(hint, "__origin__", None) is not ClassVar
        }
        cls.FIELDS = MappingProxyType({**cls.FIELDS, **own})
        cls._defaults = {**cls._defaults, **{name: cls.__dict__[name] for name in own if name in cls.__dict__}}
        cls.REQUIRED = frozenset(cls.FIELDS) - cls._defaults.keys()

    def __init__(self, **values: Any) -> None:
        wrong = (values.keys() - self.FIELDS.keys()) or (self.REQUIRED - values.keys())
        if wrong:
            raise TypeError(f"{type(self).__name__}: missing or unknown {', '.join(sorted(wrong))}")
        self.__dict__.update(self._defaults)
        self.__dict__.update(values)

    def but(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update(changes)
        return copy

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(other) is type(self) else NotImplemented

    def __copy__(self) -> Self:
        return self

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({inner})"
