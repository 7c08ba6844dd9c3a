"""Give each call of a reply an id of its own: results, questions and their answers name calls by their ids."""

from dataclasses import replace
from itertools import count

from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent, PartStartEvent, ToolCallPart


class CallIds:
    """The ids of one reply's calls, by the index of their part: the id itself the first time, then one of its own."""

    def __init__(self) -> None:
        self._ids: dict[int, str] = {}

    def own(self, index: int, call: ToolCallPart) -> ToolCallPart:
        given = call.tool_call_id
        if index not in self._ids:
            times, taken = count(2), self._ids.values()
            own = given
            while own in taken:
                own = f"{given}-{next(times)}"
            self._ids[index] = own
        return call if self._ids[index] == given else replace(call, tool_call_id=self._ids[index])

    def in_event(self, event: ModelResponseStreamEvent) -> ModelResponseStreamEvent:
        """The event with the call's own id: what streams has the ids of the whole reply."""
        match event:
            case PartStartEvent(index=index, part=ToolCallPart() as call):
                own = self.own(index, call)
                return event if own is call else replace(event, part=own)
            case _:
                return event


def with_own_call_ids(response: ModelResponse) -> ModelResponse:
    """The response with a different id for each call; unchanged if they differ already."""
    ids = CallIds()
    parts = [ids.own(n, part) if isinstance(part, ToolCallPart) else part for n, part in enumerate(response.parts)]
    return replace(response, parts=parts) if parts != response.parts else response
