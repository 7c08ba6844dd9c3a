"""What delegates do, told in the fold of the call that asked them: one line with a live gist, opened their own talk."""

from co_tui.events import DelegationEnd, DelegationStart, Json, SessionError, ToolActivity
from co_tui.events.messages import pieces
from co_tui.inert import inert, one_line
from co_tui.session.tool_wording import told_call
from co_tui.session.wording import money
from co_tui.ui.formatting import counted, tokens
from co_tui.ui.widgets.block import Block

GIST_CHARS = 60
LINE_CHARS = 200
INDENT = "    "


class DelegationLines:
    """Follows the delegations of a session; each belongs to the block of its call."""

    def __init__(self) -> None:
        self._blocks: dict[str, Block] = {}
        self._calls: dict[str, int] = {}

    def start(self, fact: DelegationStart, call: Block | None) -> Block | None:
        if call is not None:
            self._blocks[fact.agent] = call
            self._calls[fact.agent] = 0
            call.status = "asked"
        return call

    def said(self, agent: str, message: Json) -> Block | None:
        """A whole message of a delegate."""
        block = self._blocks.get(agent)
        if block is None:
            return None
        for role, text, part in pieces(message):
            if role == "tool_call":
                self._calls[agent] += 1
                name = one_line(str(part.get("tool_name", "")), 40)
                self._add(block, f"▸ {name}  {told_call(name, text)}")
            elif role == "tool_result":
                lines = text.count("\n") + 1
                self._add(block, f"  ↳ {counted(lines, 'line') if lines > 1 else one_line(text, LINE_CHARS)}")
            elif role == "assistant" and text.strip():
                self._add(block, inert(text).strip())
        return block

    def active(self, fact: ToolActivity) -> Block | None:
        """What it does right now stands on the one line."""
        block = self._blocks.get(fact.agent)
        if block is not None and fact.stage == "started":
            block.status = one_line(f"{fact.tool_name} {told_call(fact.tool_name, fact.text)}", GIST_CHARS)
        return block

    def failed(self, fact: SessionError) -> Block | None:
        """What went wrong in it, and what is done about it."""
        block = self._blocks.get(fact.agent)
        if block is not None:
            self._add(block, f"! {one_line(fact.what, LINE_CHARS)} ({one_line(fact.outcome, LINE_CHARS)})")
        return block

    def end(self, fact: DelegationEnd) -> Block | None:
        block = self._blocks.get(fact.agent)
        if block is not None:
            used = fact.usage.get("input_tokens", 0) + fact.usage.get("output_tokens", 0)
            figures = [fact.outcome, counted(self._calls[fact.agent], "call"), tokens(used)]
            block.outcome = block.status = " · ".join([*figures, *([money(fact.cost)] if fact.cost else [])])
        return block

    @staticmethod
    def _add(block: Block, text: str) -> None:
        told = "\n".join(INDENT + line for line in text.split("\n"))
        block.inner = block.result = f"{block.inner}\n{told}" if block.inner else told
