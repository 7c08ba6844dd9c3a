"""How a screen reads the store: at once from this machine's disk, in a thread over a network."""

from collections.abc import Callable
from typing import Any, TypeVar

from co_tui.store.port import Store
from co_tui.ui.background import in_own_thread

T = TypeVar("T")


async def ask_store(store: Store, question: Callable[..., T], *args: Any) -> T:
    """The answer. From a store on this machine it comes before anything else happens on the screen."""
    return await in_own_thread(question, *args) if store.is_remote else question(*args)
