"""Every policy, and plain truncation, on the real conversations at three windows."""

import time

from co_tui.context.count import Window
from co_tui.exchange.chat import load
from co_tui.lab.replay import Tally, replay
from tests.context.test_request import LOADED, POLICIES
from tests.support.shared import DATA

WINDOWS = (8_000, 32_000, 128_000)


def main() -> None:
    if not DATA.is_dir():
        print("  no shared data beside this checkout")
        return
    conversations = list(load(DATA / "conversations.jsonl"))
    messages = sum(len(conversation.messages) for conversation in conversations)
    settings = {**LOADED, "truncation alone": LOADED["off"].but(truncation="on")}
    for window in WINDOWS:
        print(f"  window {window:,}")
        for name in (*POLICIES, "truncation alone"):
            tally, start = Tally(name), time.perf_counter()
            for conversation in conversations:
                for request in replay(conversation, settings[name], Window(tokens=window, known=True)):
                    tally.add(request)
            pace = messages / (time.perf_counter() - start)
            print(
                f"    {name:16}  sent {tally.total_tokens / 1e6:6.1f}M  compactions {tally.compactions:4}  "
                f"truncations {tally.truncations:4}  waits {tally.waits:3}  details kept {tally.kept_share:.4f}  "
                f"breaches {tally.breaches}  {pace:,.0f} messages/s",
                flush=True,
            )
