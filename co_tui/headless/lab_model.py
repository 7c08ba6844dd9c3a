"""A real model as the lab's summariser."""

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from pydantic_ai.messages import ModelMessage

from co_tui.agent.models import ModelHandle, config_for, open_model
from co_tui.headless.output import CommandContext
from co_tui.session.compaction.summaries import OFFLINE, Summary, SummaryRequest, summarised

T = TypeVar("T")


class ModelSummariser:
    """Asks the model on a loop of its own, and waits: a replay has nothing else to do meanwhile."""

    def __init__(
        self, name: str, context: CommandContext, environ: Mapping[str, str], window_tokens: int, ratio: float
    ) -> None:
        """Raises `ModelUnusable`."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="lab-summariser", daemon=True)
        self._thread.start()
        self._window_tokens, self._ratio = window_tokens, ratio
        self._timeout_s = context.loaded.settings.compaction_timeout_s
        self._model_handle: ModelHandle | None = None
        config = config_for(context.loaded.settings, environ, context.paths.models)
        try:
            self._model_handle = self._wait(open_model(name, config))
        except BaseException:
            self.close()
            raise
        self._by_model = self._offline = 0
        self._cost = 0.0
        self._note = ""

    def __call__(self, messages: Sequence[ModelMessage], budget_tokens: int, *, user_words: bool = True) -> str:
        request = SummaryRequest(
            messages, int(budget_tokens * self._ratio), self._window_tokens, self._ratio, user_words
        )
        request.timeout_s = self._timeout_s
        summary: Summary = self._wait(summarised(request, self._model))
        if summary.by == OFFLINE:
            self._offline, self._note = self._offline + 1, summary.note or self._note
        else:
            self._by_model += 1
        self._cost += request.bill.cost or 0.0
        return summary.text

    def told(self) -> str:
        """What came of it, in a sentence."""
        assert self._model_handle is not None
        why = f" (last: {self._note})" if self._note else ""
        offline = f", {self._offline} by the offline summariser{why}" if self._offline else ""
        price = f" Price: ${self._cost:.4f}." if self._cost else ""
        return f"{self._by_model} summaries by {self._model_handle.name}{offline}.{price}"

    def close(self) -> None:
        if self._model_handle is not None:
            self._wait(self._model_handle.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _model(self) -> ModelHandle:
        assert self._model_handle is not None
        return self._model_handle

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
