"""Puts a session together from what another program wrote, keeping every result with its call."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NamedTuple, TypeVar

from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from co_tui.events.stored_messages import COMMAND, NOTE, SLASH, file_label, note_heading, title_of
from co_tui.exchange.importers.foreign_values import Content
from co_tui.exchange.importers.imported import ImportedSession
from co_tui.exchange.importers.imported_log import START, Compacted, Delegated, Item, Said, WentBack, log_of
from co_tui.exchange.importers.message_identity import with_foreign_id
from co_tui.exchange.importers.trees import ROOT, Node, parents_first

T = TypeVar("T")
NO_USAGE = RequestUsage()
PROVIDER = "provider"
"""Metadata of a reply: who gave it, as the program names it. As its provider's own, its ids would be taken as valid."""
MAX_SESSION_IMAGE_BYTES = 200_000_000
"""Per session; more are dropped and reported."""
MAX_NAMED_AGAIN = 5_000_000
"""Per session: each time that a session goes back, its log names all that is left. Past that, other branches than the
chosen one are left out."""
OTHER_BRANCHES: Final = "messages of other branches"


class Result(NamedTuple):
    """What a tool returned, as it was written: the id, if any, is the program's own."""

    call_id: str
    content: str
    tool: str = ""
    failed: bool = False
    images: Sequence[BinaryContent] = ()


@dataclass(slots=True, eq=False)
class _Call:
    given_id: str
    id: str
    tool: str
    reply: "_Reply"
    is_answered: bool = False


def _next_open(calls: deque[_Call]) -> _Call | None:
    """The first call without a result; those before it are dropped."""
    while calls and calls[0].is_answered:
        calls.popleft()
    return calls[0] if calls else None


@dataclass(slots=True, eq=False)
class _Reply:
    """A response, with the results of its calls as they come in."""

    said: Said
    """With the parts of its first piece: a reply is checked whole each time that it is made."""
    id: str = ""
    """The program's own; several pieces may have it."""
    parts: list[ModelResponsePart] = field(default_factory=list)
    open: defaultdict[tuple[str, bool], deque[_Call]] = field(default_factory=lambda: defaultdict(deque))
    """Its calls in order, by tool and all of them (as the tool ""), and of each those without an id of their own."""
    calls: list[str] = field(default_factory=list)
    """The ids of all its calls, as they are here."""
    answers: list[Said] = field(default_factory=list)

    def whole(self) -> Said:
        """With all of its parts."""
        response = self.said.message
        assert isinstance(response, ModelResponse)
        if len(response.parts) == len(self.parts):
            return self.said
        return self.said._replace(message=replace(response, parts=self.parts))


@dataclass(slots=True, eq=False)
class Place:
    """A point of the conversation: behind an item, and what that item followed."""

    item: _Reply | Item
    before: "Place | None"
    reply: _Reply | None
    """The latest one up to here."""
    depth: int
    continued: "Place | None" = None
    """What belongs to this item too, so that what follows the one follows the other."""


class SessionBuilder:
    """Takes what was said; `build` gives the session.

    What is added follows the current place, which `walk` sets for the nodes of a tree, and `go_back` for programs that
    write down what was taken back. The history is the path to the last place; all else was said, and then rewound.

    Ids of calls are reused by real programs, and some write none: a result belongs to the latest open call of its id,
    else to the first open call without an id in the latest reply. What belongs to no call is kept where it stood.
    """

    def __init__(self, source: str, fallback_time: datetime) -> None:
        self._source = source
        self._time = fallback_time
        self._places: list[Place] = []
        """One for each item, in the order in which they were added."""
        self._place: Place | None = None
        self._starts: dict[str, int] = {}
        self._open: dict[str, list[deque[_Call]]] = {}
        """Calls by their id, and there by reply, the latest one last."""
        self._calls: dict[str, _Call] = {}
        self._delegated: list[Delegated] = []
        self._ids: dict[str, int] = {}
        self._prompts: dict[Place, str] = {}
        """What the user said, by its place; in order."""
        self._commands: dict[Place, str] = {}
        """What the user ran, also by its place."""
        self.title = self.cwd = self.branch = self.repository = ""
        self.window_tokens = 0
        """Of the model, where the program tells it."""
        self.skipped = 0
        self.left_out: Counter[str] = Counter()
        self._images_bytes = 0
        self._entry_id = ""

    @property
    def empty(self) -> bool:
        return not self._places

    @property
    def started(self) -> datetime:
        """When the first thing was said; before that, the time of the file."""
        return _time_of(self._places[0].item) if self._places else self._time

    @property
    def place(self) -> Place | None:
        """Where the conversation is; None at its start."""
        return self._place

    def start(self, time: datetime | None) -> None:
        """When the session began, for what has no time of its own."""
        self._at(time)

    def mark(self, entry_id: str) -> None:
        """Remember what comes next under the program's own id for it; empty when it has none."""
        self._entry_id = entry_id
        if entry_id:
            self._starts.setdefault(entry_id, len(self._places))

    def go_back(self, place: Place | None, time: datetime | None = None) -> None:
        """What comes next follows that place; what was said since then no longer counts."""
        self._at(time)
        self._place = place

    def walk(self, nodes: Sequence[Node[T]], leaf: str = "") -> Iterator[T]:
        """Each node's record, parents first, with its place set for what it says; the history ends with the `leaf`.

        A node of which nothing is added is where its parent is. A parent that is not in the file counts as what was
        said right before its first child. A node that names no parent follows what was said last, and without an id
        it belongs to that. Without a leaf that is known, the history ends with what was said last.
        """
        ends: dict[str, Place | None] = {ROOT: None}
        for node in parents_first(nodes):
            last = self._places[-1] if self._places else None
            self._place = last if node.parent is None else _joined(ends.setdefault(node.parent, last))
            self.mark(node.id)
            before, said = self._place, len(self._places)
            yield node.record
            if node.id:
                ends[node.id] = self._place
            elif node.parent is None and len(self._places) > said:
                if before is None:
                    ends[ROOT] = self._place
                else:
                    before.continued = self._place
        self._entry_id = ""
        chosen = _joined(ends.get(leaf)) if leaf else None
        self._place = chosen or (self._places[-1] if self._places else None)

    def prompt(
        self,
        text: str,
        time: datetime | None,
        *,
        images: Sequence[BinaryContent] = (),
        command: str = "",
        slash: str = "",
        by_program: bool = False,
    ) -> None:
        """What the user said or ran; `slash`: the command that wrote it; `by_program`: a note of the program."""
        if not text.strip() and not images:
            return
        when = self._at(time)
        metadata: dict[str, object] = {COMMAND: command} if command else {}
        if slash:
            metadata = {SLASH: {"typed": slash, "source": self._source}}
        elif by_program:
            metadata = {NOTE: self._source}
            text = f"{note_heading(self._source)}{text}"
        part = UserPromptPart(self._with_images(text, images), timestamp=when)
        message = ModelRequest(parts=[part], timestamp=when, metadata=metadata or None)
        opens_turn = not command and not by_program
        place = self._add(Said(message, when, opens_turn=opens_turn))
        if opens_turn:
            self._prompts[place] = slash or text
        elif command:
            self._commands[place] = command

    def ran(self, command: str, output: str, time: datetime | None, *, sign: str = "$ ") -> None:
        """What the user ran in the program, and what it printed."""
        heading = f"[The user ran a command. It ran in {self._source}.]"
        said = "\n\n".join(filter(None, (f"{heading}\n{sign}{command}", output.strip())))
        self.prompt(said, time, command=command)

    def system(self, text: str, time: datetime | None) -> None:
        if text.strip():
            when = self._at(time)
            self._add(Said(ModelRequest(parts=[SystemPromptPart(text, timestamp=when)], timestamp=when), when))

    def reply(
        self,
        parts: Sequence[ModelResponsePart],
        time: datetime | None,
        *,
        model: str = "",
        provider: str = "",
        usage: RequestUsage = NO_USAGE,
        interrupted: bool = False,
        reply_id: str = "",
    ) -> None:
        """What the model said. Pieces with the same `reply_id` that follow each other are one reply.

        Those that come behind a result are another message, but what follows one piece follows all.
        """
        if not parts:
            return
        when = self._at(time)
        last = self._place
        is_piece = last is not None and isinstance(last.item, _Reply) and reply_id != "" and last.item.id == reply_id
        if is_piece and last is not None and isinstance(last.item, _Reply) and not last.item.answers:
            self._extend(last.item, parts, usage, interrupted)
            return
        response = ModelResponse(
            parts=[],
            timestamp=when,
            model_name=model or None,
            metadata={PROVIDER: provider} if provider else None,
            usage=usage,
        )
        reply = _Reply(Said(response, when), reply_id)
        self._extend(reply, parts, usage, interrupted)
        self._add(reply)
        if is_piece and last is not None:
            last.continued = self._place

    def interrupt(self) -> None:
        """The user stopped the latest reply, unless something was said since."""
        last = self._place.item if self._place else None
        if isinstance(last, _Reply) and isinstance(reply := last.said.message, ModelResponse):
            last.said = last.said._replace(message=replace(reply, state="interrupted"), interrupted=True)

    def used(self, usage: RequestUsage) -> None:
        """What the provider reported for the latest reply, unless that is known already."""
        latest = self._place.reply if self._place else None
        if latest is not None and isinstance(reply := latest.said.message, ModelResponse):
            usage = reply.usage if reply.usage.input_tokens else usage
            latest.said = latest.said._replace(message=replace(reply, usage=usage))

    def results(self, results: Iterable[Result], time: datetime | None) -> None:
        """What tools returned, at once; each goes to the reply that called it."""
        when = self._at(time)
        by_reply: dict[int, tuple[_Reply | None, list[ToolReturnPart]]] = {}
        for result in results:
            call = self._answered(result)
            part = ToolReturnPart(
                tool_name=(call.tool if call else result.tool) or "tool",
                content=self._with_images(result.content, result.images),
                tool_call_id=call.id if call else result.call_id or self._new_id(""),
                timestamp=when,
                outcome="failed" if result.failed else "success",
            )
            reply = call.reply if call else None
            by_reply.setdefault(id(reply), (reply, []))[1].append(part)
        for reply, parts in by_reply.values():
            said = Said(ModelRequest(parts=parts, timestamp=when), when)
            if reply is not None:
                reply.answers.append(self._known(said))
            else:
                self._add(said)

    def delegate(self, call_id: str, agent: str, name: str, other: "SessionBuilder") -> None:
        """What another agent did for the call of this id; without one it comes where it began."""
        call = self._calls.get(call_id)
        if not other.empty:
            made = Delegated(agent, name, other._first(other._prompts), call.id if call else "", tuple(other._flat()))
            self._delegated.append(made)
        self.left_out.update(other.left_out)
        self.skipped += other.skipped

    def compacted(
        self,
        summary: str,
        time: datetime | None,
        *,
        trigger: str = "background",
        pre_tokens: int = 0,
        kept_from: str = "",
        replacement: Sequence[ModelMessage] = (),
    ) -> None:
        """All that was said became a summary, but for what began at the place `kept_from`.

        Without a summary or a `replacement` only the fact is recorded.
        """
        first = self._starts.get(kept_from) if kept_from else None
        self._add(Compacted(summary, self._at(time), trigger, pre_tokens, first, tuple(replacement)))

    def leave_out(self, kind: str, count: int = 1) -> None:
        """Count what cannot be carried over, by a kind in words for people."""
        if count:
            self.left_out[kind] += count

    def counting(self, content: Content) -> Content:
        """The content; what it only names is counted as left out."""
        self.left_out.update(content.left_out)
        return content

    def build(self, session_id: str) -> ImportedSession:
        title = title_of(self.title) or title_of(self._first(self._prompts)) or title_of(self._first(self._commands))
        items = self._flat()
        return ImportedSession(
            source=self._source,
            session_id=session_id,
            title=title,
            messages=[message for item in items for message in item.said],
            log=log_of(
                session_id,
                items,
                title=title,
                place={"cwd": self.cwd, "branch": self.branch, "repository": self.repository},
                window_tokens=self.window_tokens,
                source=self._source,
            ),
            skipped=self.skipped,
            left_out=dict(self.left_out),
        )

    def _first(self, said: Mapping[Place, str]) -> str:
        """The first of these texts in the history; the first of all if none is there."""
        history = [said[place] for place in _path(self._place) if said.get(place)]
        return history[-1] if history else next(filter(None, said.values()), "")

    def _with_images(self, text: str, images: Sequence[BinaryContent]) -> str | list[str | BinaryContent]:
        """The text with the images behind it, as long as there is room for them."""
        if not images:
            return text
        self._images_bytes += sum(len(image.data) for image in images)
        if self._images_bytes > MAX_SESSION_IMAGE_BYTES:
            self.leave_out("images", len(images))
            return "\n".join(filter(None, (text, file_label([image.media_type for image in images]))))
        return [*([text] if text.strip() else []), *images]

    def _flat(self) -> list[Item]:
        """All items with the results behind their replies, and a step back before each that follows an earlier one."""
        flat: list[Item] = []
        starts: list[int] = []
        ends: dict[Place | None, int] = {None: START}
        named = 0
        chosen = set(_path(self._place))
        loose = deque(sorted((each for each in self._delegated if not each.call_id), key=_began))
        by_call: dict[str, list[Delegated]] = {}
        for each in self._delegated:
            by_call.setdefault(each.call_id, []).append(each)
        last: Place | None = None
        for place in self._places:
            item = place.item
            starts.append(len(flat))
            if place.before is not last:
                named += place.before.depth if place.before else 0
                if named > MAX_NAMED_AGAIN and place not in chosen:
                    self.leave_out(OTHER_BRANCHES)
                    continue
            while loose and not isinstance(item, Compacted) and _began(loose[0]) < _time_of(item):
                flat.append(loose.popleft())
            if place.before is not last:
                flat.append(WentBack(_time_of(item), ends[place.before]))
            starts[-1] = len(flat)
            if isinstance(item, _Reply):
                flat += [item.whole(), *(each for call in item.calls for each in by_call.get(call, ())), *item.answers]
            elif isinstance(item, Compacted) and item.kept_from is not None:
                flat.append(item._replace(kept_from=starts[min(item.kept_from, len(starts) - 1)]))
            else:
                flat.append(item)
            last, ends[place] = place, len(flat) - 1
        if self._place is not last:
            flat.append(WentBack(self._time, ends[self._place]))
        return [*flat, *loose]

    def _add(self, item: _Reply | Item) -> Place:
        if isinstance(item, _Reply):
            item.said = self._known(item.said)
        elif isinstance(item, Said):
            item = self._known(item)
        before = self._place
        reply = item if isinstance(item, _Reply) else before.reply if before else None
        self._place = Place(item, before, reply, before.depth + 1 if before else 1)
        self._places.append(self._place)
        return self._place

    def _known(self, said: Said) -> Said:
        """The same with the program's id of the entry that it comes from."""
        return said._replace(message=with_foreign_id(said.message, self._entry_id))

    def _extend(
        self, reply: _Reply, parts: Sequence[ModelResponsePart], usage: RequestUsage, interrupted: bool
    ) -> None:
        response = reply.said.message
        assert isinstance(response, ModelResponse)
        reply.parts += [self._called(part, reply) if isinstance(part, ToolCallPart) else part for part in parts]
        changed = replace(
            response,
            parts=response.parts or list(reply.parts),
            usage=usage if usage.input_tokens or usage.output_tokens else response.usage,
            state="interrupted" if interrupted else response.state,
        )
        reply.said = reply.said._replace(message=changed, interrupted=interrupted or reply.said.interrupted)

    def _called(self, part: ToolCallPart, reply: _Reply) -> ToolCallPart:
        given = part.tool_call_id
        call = _Call(given, self._new_id(given), part.tool_name, reply)
        reply.calls.append(call.id)
        for only_unnamed in (False, True) if not given else (False,):
            for tool in {call.tool, ""}:
                reply.open[tool, only_unnamed].append(call)
        if given:
            self._calls.setdefault(given, call)
            of_id = self._open.setdefault(given, [])
            if not of_id or not of_id[-1] or of_id[-1][0].reply is not reply:
                of_id.append(deque())
            of_id[-1].append(call)
        return replace(part, tool_call_id=call.id)

    def _new_id(self, given: str) -> str:
        """The id itself the first time, then one of its own."""
        id = given or "call"
        self._ids[id] = times = self._ids.get(id, 0) + 1
        return id if times == 1 and given else self._new_id(f"{id}-{times}")

    def _answered(self, result: Result) -> _Call | None:
        """The call that it is the result of, which is closed by that."""
        call = self._of_id(result.call_id) or self._by_position(result)
        if call is not None:
            call.is_answered = True
        return call

    def _of_id(self, given: str) -> _Call | None:
        of_id = self._open.get(given) if given else None
        while of_id:
            if (call := _next_open(of_id[-1])) is not None:
                return call
            of_id.pop()
        return None

    def _by_position(self, result: Result) -> _Call | None:
        if self._place is None or self._place.reply is None:
            return None
        waiting, only_unnamed = self._place.reply.open, result.call_id != ""
        return _next_open(waiting[result.tool, only_unnamed]) or _next_open(waiting["", only_unnamed])

    def _at(self, time: datetime | None) -> datetime:
        """The recorded time, else that of the previous message."""
        if time is not None:
            self._time = time
        return self._time


def _time_of(item: _Reply | Item) -> datetime:
    return item.said.time if isinstance(item, _Reply) else item.time


def _path(place: Place | None) -> Iterator[Place]:
    """The place and all that it follows."""
    while place is not None:
        yield place
        place = place.before


def _joined(place: Place | None) -> Place | None:
    """The place behind all that belongs to its item."""
    while place is not None and place.continued is not None:
        place = place.continued
    return place


def _began(task: Delegated) -> datetime:
    return task.items[0].time
