"""The library's price list, without the models of providers that are not in use: 3 MB."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from threading import Lock

import genai_prices
from genai_prices.data_snapshot import DataSnapshot, find_provider_by_id, set_custom_snapshot
from genai_prices.types import ModelInfo, Provider

COMPATIBLE = "openai"
"""The provider under whose name the library looks up the models of all compatible servers."""

_late: dict[str, "_LateModels"] = {}
_loading = Lock()


class _LateModels(list[ModelInfo]):
    """Models of a provider. Looking through them loads those of all providers."""

    def __iter__(self) -> Iterator[ModelInfo]:
        if not self:
            _load_late()
        return super().__iter__()


def keep_prices_of(model: str) -> None:
    """Keep only the list of this model's provider in memory; all others are loaded again when one is asked for.

    Only the first call counts.
    """
    if _late:
        return
    providers = _all_providers()
    used = find_provider_by_id(providers, model.partition(":")[0])
    kept = {COMPATIBLE, used.id if used is not None else COMPATIBLE}
    _late.update({each.id: _LateModels() for each in providers if each.id not in kept})
    lean = [replace(each, models=_late.get(each.id, each.models)) for each in providers]
    set_custom_snapshot(DataSnapshot(lean, from_auto_update=False))


def _load_late() -> None:
    with _loading:
        if not any(_late.values()):
            for provider in _all_providers():
                if provider.id in _late:
                    _late[provider.id][:] = provider.models


def _all_providers() -> list[Provider]:
    from genai_prices.data import providers

    del sys.modules[f"{genai_prices.__name__}.data"], genai_prices.data
    return providers
