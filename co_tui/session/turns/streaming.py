"""A reply while it streams: announced piece by piece, and saved, so that little is lost if it breaks off."""

from typing import Any, cast

from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelRequest,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

from co_tui.events import StreamDelta, StreamReset, ToolActivity
from co_tui.events.content import content_text, files_in
from co_tui.events.file_diff import diff_in
from co_tui.events.partial_reply import DraftPiece
from co_tui.events.storable import storable, storable_text
from co_tui.events.stored_messages import text_of
from co_tui.events.tool_wording import Stage, stage_of
from co_tui.session.recorder import Recorder
from co_tui.session.turns.reply_draft import Draft


class Streaming:
    """What arrived since the last logged message: pieces of a reply, or tool results."""

    def __init__(self, recorder: Recorder, turn: int, model: str, agent: str = "") -> None:
        self._recorder = recorder
        self._turn = turn
        self._model = model
        self._agent = agent
        self._results: dict[str, Any] = {}
        self.draft = self._new_draft()

    def begin(self) -> None:
        """Forget what arrived so far: it is logged."""
        self.draft = self._new_draft()
        self._results.clear()

    def restart(self) -> None:
        """The reply is requested again: discard what was shown of it."""
        self._recorder.announce(StreamReset(turn=self._turn, agent=self._agent))
        self.begin()

    def results(self) -> ModelRequest | None:
        """Tool results that are not logged yet."""
        return ModelRequest(parts=list(self._results.values())) if self._results else None

    def on_event(self, event: AgentStreamEvent) -> None:
        match event:
            case PartDeltaEvent(index=index, delta=TextPartDelta(content_delta=text)) if text:  # nearly all of them
                self._delta(index, "text", text)
            case PartStartEvent(index=index, part=TextPart(content=text)) if text:
                self._delta(index, "text", text)
            case PartStartEvent(index=index, part=ThinkingPart(content=text)) if text:
                self._delta(index, "thinking", text)
            case PartDeltaEvent(index=index, delta=ThinkingPartDelta(content_delta=text)) if text:
                self._delta(index, "thinking", text)
            case (
                PartStartEvent(index=index, part=ThinkingPart())
                | PartDeltaEvent(index=index, delta=ThinkingPartDelta())
            ):
                self._announce(DraftPiece(index, "thinking", "", "", ""))  # hidden thinking
            case PartStartEvent(index=index, part=ToolCallPart() as call):
                self._delta(index, "tool_call", text_of(call.args), call.tool_name, call.tool_call_id)
            case PartDeltaEvent(index=index, delta=ToolCallPartDelta(args_delta=args)) if args:
                self._delta(index, "tool_call", text_of(args))
            case FunctionToolCallEvent(part=call, args_valid=False):
                self.started(call)  # it never gets its turn
            case FunctionToolResultEvent(part=answer):
                self._results[answer.tool_call_id] = answer
                stage = stage_of(getattr(answer, "outcome", "success"))
                name = answer.tool_name or ""
                text = text_of(storable(_shown(answer.content)))  # a tool may return anything
                self._tool(name, answer.tool_call_id, stage, text, _diff(answer))
            case _:
                pass

    def started(self, call: ToolCallPart) -> None:
        """A call has its turn."""
        self._tool(call.tool_name, call.tool_call_id, "started", text_of(call.args))

    def _delta(self, index: int, kind: Any, text: str, tool_name: str = "", call_id: str = "") -> None:
        piece = DraftPiece(index, kind, *map(storable_text, (text, tool_name, call_id)))
        if not self._agent:  # the store keeps one partial reply per session, the main agent's
            self.draft.add(piece)
        self._announce(piece)

    def _announce(self, piece: DraftPiece) -> None:
        self._recorder.announce(
            StreamDelta(
                turn=self._turn,
                part=piece.part,
                kind=cast(Any, piece.kind),
                text=piece.text,
                tool_name=piece.tool_name,
                tool_call_id=piece.tool_call_id,
                agent=self._agent,
            )
        )

    def _tool(self, name: str, call_id: str, stage: Stage, text: str, diff: str = "") -> None:
        name, call_id, text = map(storable_text, (name, call_id, text))
        self._recorder.announce(
            ToolActivity(
                turn=self._turn,
                tool_name=name,
                tool_call_id=call_id,
                stage=stage,
                text=text,
                agent=self._agent,
                diff=diff,
            )
        )

    def _new_draft(self) -> Draft:
        return Draft(self._recorder.session_id, self._turn, self._model, self._recorder.writer)


def _diff(answer: Any) -> str:
    return diff_in({"metadata": getattr(answer, "metadata", None)})


def _shown(content: Any) -> Any:
    """A result, with each file replaced by its kind."""
    return content_text(content) if files_in(content) else content
