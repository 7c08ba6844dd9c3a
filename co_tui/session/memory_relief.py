"""What is done when this process takes too much memory."""

import asyncio
import contextlib

from co_tui.events.triggers import Trigger
from co_tui.session.compaction.compactor import CompactionRefused, Compactor
from co_tui.session.process_memory import give_back, pressed
from co_tui.session.runtime.runtime import Runtime

RELIEVED_FOR_MESSAGES = 40
"""After compacting for want of memory: not again before so much more was said."""


class MemoryRelief:
    """Collects garbage, and if that is not enough, compacts."""

    def __init__(self, compactor: Compactor) -> None:
        self._compactor = compactor
        self._relieved_at = -RELIEVED_FOR_MESSAGES
        """How much had been said when memory was last made free."""

    async def after_turn(self, runtime: Runtime) -> None:
        said = len(runtime.history.state.transcript)
        if said < self._relieved_at + RELIEVED_FOR_MESSAGES or self._compactor.running:
            return
        if pressed(runtime.settings.memory_limit_mb):
            self._relieved_at = said
            with contextlib.suppress(CompactionRefused):
                await self._compactor.compact(runtime.compactable, trigger=Trigger.MEMORY_PRESSURE)
            runtime.history.release_memory()
            await asyncio.to_thread(give_back)
