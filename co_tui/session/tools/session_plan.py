"""The plan of a session: each change is an event, and the state has the latest."""

from typing import Any, Final

from pydantic_ai_harness.planning import PlanItem, TaskStatus

from co_tui.events import Json, PlanChanged
from co_tui.events.storable import storable
from co_tui.session.recorder import Recorder
from co_tui.session.turns.current_agent import CURRENT_AGENT

MOST_STEPS: Final = 200
MOST_STEP_CHARS: Final = 500


class SessionPlan:
    """The harness's plan store, backed by the log."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    async def get_items(self) -> list[PlanItem]:
        return [_item(step) for step in self._recorder.state.plan]

    async def set_items(self, items: list[PlanItem]) -> None:
        steps = tuple(_step(item) for item in items[:MOST_STEPS])
        if CURRENT_AGENT.get():
            return  # the plan is the main agent's; a delegate has its task
        if steps != self._recorder.state.plan:
            await self._recorder.record(PlanChanged(steps=steps))

    async def get_item(self, item_id: str) -> PlanItem | None:
        return next((item for item in await self.get_items() if item.id == item_id), None)

    async def add_item(self, item: PlanItem) -> PlanItem:
        items = await self.get_items()
        if any(each.id == item.id for each in items):
            raise ValueError(f"There is already a step {item.id!r}.")
        await self.set_items([*items, item])
        return item

    async def update_item(self, item_id: str, **changes: Any) -> PlanItem | None:
        items = await self.get_items()
        changed = {name: value for name, value in changes.items() if value is not None}
        updated = [item.model_copy(update=changed) if item.id == item_id else item for item in items]
        await self.set_items(updated)
        return next((item for item in updated if item.id == item_id), None)

    async def remove_item(self, item_id: str) -> bool:
        items = await self.get_items()
        left = [item for item in items if item.id != item_id]
        await self.set_items(left)
        return len(left) < len(items)


def _step(item: PlanItem) -> Json:
    step: Json = storable({"text": item.content[:MOST_STEP_CHARS], "state": item.status.value, "id": item.id})
    return step


def _item(step: Json) -> PlanItem:
    """A stored step; an unknown state, from another version, counts as pending."""
    known = {status.value for status in TaskStatus}
    state = step.get("state")
    status = TaskStatus(state) if state in known else TaskStatus.pending
    item = PlanItem(content=str(step.get("text", "")), status=status)
    return item.model_copy(update={"id": str(step["id"])}) if "id" in step else item
