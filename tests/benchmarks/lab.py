"""Every policy, and plain truncation, on the real conversations at three windows."""

import asyncio
import time

from co_tui.context.measure.count import Window
from co_tui.context.policy import policy_of
from co_tui.exchange.openai_format import Conversation, load
from co_tui.lab.results import replay
from co_tui.lab.tally import Tally
from co_tui.settings import Settings
from tests.context.request.test_pipeline import LOADED, POLICIES
from tests.support.shared import DATA

WINDOWS = (8_000, 32_000, 128_000)
MOST: int | None = None
"""How many of the conversations are replayed."""


async def _add_all(tally: Tally, conversations: list[Conversation], settings: Settings, window: int) -> None:
    for conversation in conversations:
        async for request in replay(conversation, policy_of(settings), Window(tokens=window, known=True)):
            tally.add(request)


def main() -> None:
    if not DATA.is_dir():
        print("  no shared data beside this checkout")
        return
    conversations = list(load(DATA / "conversations.jsonl"))[:MOST]
    messages = sum(len(conversation.messages) for conversation in conversations)
    settings = {**LOADED, "truncation alone": LOADED["off"].but(truncation="on")}
    for window in WINDOWS:
        print(f"  window {window:,}")
        for name in (*POLICIES, "truncation alone"):
            tally, start = Tally(name), time.perf_counter()
            asyncio.run(_add_all(tally, conversations, settings[name], window))
            pace = messages / (time.perf_counter() - start)
            print(
                f"    {name:16}  sent {tally.total_tokens / 1e6:6.1f}M  compactions {tally.compactions:4}  "
                f"truncations {tally.truncations:4}  waits {tally.waits:3}  breaches {tally.breaches}  "
                + "  ".join(f"{figure} {value:g}" for figure, value in tally.shares().items())
                + f"  {pace:,.0f} messages/s",
                flush=True,
            )
