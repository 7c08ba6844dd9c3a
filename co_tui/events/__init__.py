"""What happened: facts, the events that carry them, and their JSON form.

May import `settings` and what is below, and nothing heavy. The facts are loaded with the first that is imported: an
empty chat is painted without any.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from co_tui.events.vocabulary import *
else:

    def __getattr__(name: str) -> Any:
        globals()[name] = found = getattr(import_module("co_tui.events.vocabulary"), name)
        return found
