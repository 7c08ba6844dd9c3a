"""Follow a conversation step by step: what was called, how it ended, what changed, what was concluded."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile
from posixpath import normpath
from sys import intern
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)

from co_tui.context.journal.answers import Answer, answer_of
from co_tui.context.journal.calls import Begun, Role, begin_call, begin_command
from co_tui.context.journal.command_runs import PathIndex
from co_tui.context.journal.conclusions import (
    announcement,
    concluded,
    greets,
    last_question,
    only_says_it_fails,
    only_says_it_works,
    rejects,
    retracts,
)
from co_tui.context.journal.net_changes import GAP, changes_in_diff
from co_tui.context.journal.outcomes import Ending, ending_of
from co_tui.context.journal.work_state import LeftOut, WorkState
from co_tui.context.measure.count import estimate_text
from co_tui.context.memory.text_calls import TextCall, is_observation, pieces_of
from co_tui.context.memory.transcript_lines import DENIED_BY_USER, NOT_ALLOWED, USER, transcript_parts
from co_tui.context.memory.unwrap import unwrapped
from co_tui.events import CallOutcome
from co_tui.events.content import content_text
from co_tui.events.facts.files import AS_BEFORE
from co_tui.events.file_diff import diff_in
from co_tui.events.recorded import ChangedFile, LoggedOutcome
from co_tui.events.stored_messages import COMMAND, RESTORED
from co_tui.events.tool_calls import TOOL_LABELS
from co_tui.events.tool_wording import INTERRUPTED
from co_tui.folder_files import GENERATED
from co_tui.inert import one_line
from co_tui.late_pattern import late_pattern

_REFUSALS: Final = {DENIED_BY_USER: "denied by the user", NOT_ALLOWED: "not allowed"}
_OF_TOOL: Final = " returned"
"""How the speaker of a result ends, as `transcript_parts` names it."""


AGENT: Final = TOOL_LABELS["delegate_task"]
"""The verb of calls for which other agents work."""
UNDONE_LATER: Final = "undone later"
"""The outcome of edits whose files are as before the session first changed them."""
NO_FILES: Final[Mapping[str, ChangedFile]] = {}
ANSWERED_ABOVE: Final = "was answered above."
BEGUN_ABOVE: Final = "was asked before the last {} above, which {} for it."
SHORT_CHARS: Final = 80
"""A longer message of the user says more than that something was wrong."""
ASKED_CHARS: Final = 60
"""Of the request that is meant."""
ANNOUNCED_CHARS: Final = 200
LEAST_STATE_TOKENS: Final = 200
"""With less room, the state does not say how far the last request is."""
_ASKS_ONLY: Final = late_pattern(r"^/ask\b", re.MULTILINE)
"""In a message of the user: the edits in the answer are not applied, in some programs."""

_REPEATABLE: Final = (Role.RAN, Role.LOOKED)
"""What the later of two calls that are alike says, the earlier one no longer does."""


class Call(NamedTuple):
    """A call and how it ended."""

    call_at: tuple[int, int]
    """Message number and part, as `transcript_parts` enumerates them."""
    result_at: tuple[int, int] | None
    """None while unanswered."""
    head: str
    """One line in original words."""
    verb: str
    """For counting calls of a kind: the program of a command, or the tool."""
    outcome: str = ""
    """Empty when it went well."""
    error: str = ""
    """The last error line of a call that failed."""
    answer: Answer = Answer()
    role: Role = Role.RAN
    changed: tuple[str, ...] = ()
    """The files that it changed, as recorded; without a record, those that it was asked to change."""
    read: tuple[str, ...] = ()
    in_text: bool = False
    """Whether it was written in the text of the reply."""
    time: int = 1
    """Which of the calls with the same head it is."""

    def is_undone(self, files: Mapping[str, ChangedFile]) -> bool:
        """Whether it is an edit whose files are all as before the session."""
        return bool(self.changed) and all(path in files and files[path].now == AS_BEFORE for path in self.changed)


class Step(NamedTuple):
    """A reply of the model with its calls."""

    number: int
    calls: tuple[Call, ...]
    concluded: str
    """What the reply states, in its own sentences; empty if it only announced something."""
    announced: str = ""
    """The first sentence that says what the assistant is about to do; only of the first reply to a request."""

    is_answer: bool = False
    """Whether it said something and waits for no result."""


class _Pending(NamedTuple):
    """A call that waits for its result."""

    call_id: str
    step: int
    at: int
    begun: Begun
    is_sure: bool = True


class WorkRecord:
    """The steps of a conversation so far. Each message is read once, when it is added; no results are kept."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._messages = 0
        self._pending: list[_Pending] = []
        self._in_text: list[_Pending] = []
        """Calls in the text of the last reply."""
        self._calls_tools = False
        self._observed: set[int] = set()
        self._times: Counter[str] = Counter()
        self._answered: dict[tuple[int, int], int] = {}
        """Where a result is → the step of its call."""
        self._asked_at = -1
        """The number of the last message of the user."""
        self._asked = ""
        """How it begins."""
        self._question = ""
        """Which question of the last reply it came after."""
        self._last_question = ""
        """The question that the last reply ended with."""
        self._asks_only = False
        """Whether it asks for an answer without edits."""
        self._asked_before = False
        """Whether there was one before."""
        self._changed_in = PathIndex()
        """The number of the last message that changed a file."""
        self._state = WorkState()

    def add(self, message: ModelMessage, outcomes: Sequence[LoggedOutcome] = ()) -> None:
        """Follow the next message of the conversation, with the recorded outcomes of the calls that it answers."""
        number, self._messages = self._messages, self._messages + 1
        if isinstance(message, ModelResponse):
            self._add_reply(number, message)
        else:
            self._add_request(number, message, outcomes)

    def calls_of(self, number: int) -> tuple[Call, ...]:
        """The calls in a message."""
        step = bisect_left(self.steps, number, key=lambda each: each.number)
        return self.steps[step].calls if step < len(self.steps) and self.steps[step].number == number else ()

    def answered_by(self, place: tuple[int, int]) -> Call | None:
        """The call that a part of a message is the result of."""
        step = self._answered.get(place)
        calls = self.steps[step].calls if step is not None else ()
        return next((call for call in calls if call.result_at == place), None)

    def is_outdated(self, call: Call) -> bool:
        """Whether a file that a call read was changed since in a way that is not known, or the call was made again."""
        if call.outcome and call.role in _REPEATABLE and GAP not in call.head and self._times[call.head] > call.time:
            return True
        return any(removed is None for removed in self._removed_since(call))

    def removed_since(self, call: Call) -> set[str]:
        """The lines of files that a call read which edits removed since."""
        return {line for removed in self._removed_since(call) for line in removed or ()}

    def _removed_since(self, call: Call) -> Iterator[set[str] | None]:
        for path in (each.partition(":")[0] for each in call.read):
            if self._changed_in.find(path) > call.call_at[0]:
                yield self._state.net.removed_after(path, call.call_at[0])

    def observes(self, number: int) -> bool:
        """Whether a user message is the result of a call in text, not the user's words."""
        return number in self._observed

    @property
    def left_out(self) -> LeftOut:
        """How many commands begin, which the state says once."""
        return self._state.left_out

    def state_text(
        self, budget_tokens: float, gone: Collection[int], files: Mapping[str, ChangedFile] = NO_FILES
    ) -> str:
        """Where the work stands, within the budget; `gone` are the messages that are no longer in the request, `files`
        those that are recorded as changed."""
        request = self._on_last_request(gone) if budget_tokens > LEAST_STATE_TOKENS else ""
        newest = len(self.steps)
        conclusions: dict[str, int] = {}
        for step in self.conclusions(gone, files):
            conclusions.pop(step.concluded, None)
            conclusions[step.concluded] = newest - bisect_left(self.steps, step.number, key=lambda each: each.number)
        state = self._state.text(budget_tokens - estimate_text(request), conclusions, gone, files)
        return "\n".join(filter(None, (request, state)))

    def _on_last_request(self, gone: Collection[int]) -> str:
        """Which question the last request came after and how far it is: if that is gone and the request is not."""
        if not self._asked or not self._asked_before or self._asked_at in gone:
            return ""
        is_asked = self._question and self._asked_at - 1 in gone
        said = filter(None, (f'came after "{self._question}"' if is_asked else "", self._how_far(gone)))
        stated = " and ".join(said)
        return f'The request "{self._asked}" below {stated}' if stated else ""

    def _how_far(self, gone: Collection[int]) -> str:
        """How far the last request is, if steps for it are gone. Of the only request, all steps are."""
        since = [*takewhile(lambda step: step.number > self._asked_at, reversed(self.steps))]
        steps = [step for step in since if step.number in gone]
        if not steps:
            return ""
        if steps[0] is since[0] and since[0].is_answer:
            return ANSWERED_ABOVE
        announced = steps[-1].announced.replace('"', "'")
        begun = BEGUN_ABOVE.format(*(("step", "is") if len(steps) == 1 else (f"{len(steps)} steps", "are")))
        return f'{begun} It began: "{announced}"' if announced else begun

    def conclusions(self, numbers: Collection[int], files: Mapping[str, ChangedFile]) -> list[Step]:
        """The steps among these messages that concluded something which was not undone or overtaken later."""
        edits = [step.number for step in self.steps if any(call.changed for call in step.calls)]
        last_edit = max(edits, default=-1)
        mended = max((number for number in edits if number < self._state.good_at), default=-1)
        return [
            step
            for step in self.steps
            if step.concluded
            and step.number in numbers
            and not any(call.is_undone(files) for call in step.calls)
            and not (step.number < last_edit and only_says_it_works(step.concluded))
            and not (step.number <= mended and only_says_it_fails(step.concluded))
        ]

    def _add_reply(self, number: int, message: ModelResponse) -> None:
        self._give_up()
        step, calls, texts, at = len(self.steps), list[Call](), list[str](), 0
        written: list[tuple[int, TextCall]] = []
        for part in message.parts:
            if isinstance(part, TextPart):
                texts.append(part.content)
                pieces = pieces_of(part.content)
                written += [(at + index, piece.call) for index, piece in enumerate(pieces) if piece.call]
                at += len(pieces)
            elif isinstance(part, ToolCallPart):
                self._calls_tools = True
                begun = begin_call(part.tool_name, *_arguments(part))
                self._pending.append(_Pending(part.tool_call_id, step, len(calls), begun))
                calls.append(_call((number, at), begun))
                at += 1
        if not self._calls_tools:
            calls = [*self._calls_in_text(number, step, written)]
        text = "\n".join(texts)
        if retracts(text):
            self._take_back()
        self._last_question = one_line(last_question(text).replace('"', "'"), ANNOUNCED_CHARS) if not calls else ""
        announced = one_line(announcement(text), ANNOUNCED_CHARS) if number == self._asked_at + 1 else ""
        is_answer = bool(text.strip()) and all(call.in_text for call in calls) and not self._in_text
        settled = "" if is_answer and greets(self._asked) else concluded(text)
        self.steps.append(Step(number, tuple(map(self._timed, calls)), settled, announced, is_answer))

    def _take_back(self) -> None:
        """What the last reply concluded no longer counts."""
        if self.steps:
            self.steps[-1] = self.steps[-1]._replace(concluded="")

    def _timed(self, call: Call) -> Call:
        self._times[call.head] += 1
        return call._replace(time=self._times[call.head])

    def _calls_in_text(self, number: int, step: int, written: Sequence[tuple[int, TextCall]]) -> Iterator[Call]:
        """`written` are the calls with the numbers of their parts."""
        written = [(at, each) for at, each in written if each.is_answered or not self._asks_only]
        for index, (at, each) in enumerate(written):
            begun = begin_call(each.tool, each.values)
            call = _call((number, at), begun)._replace(in_text=True)
            if each.is_answered:
                self._in_text.append(_Pending("", step, index, begun, each.is_sure))
                yield call
            else:
                yield self._ended(call, begun, Ending(), "", None)

    def _add_request(self, number: int, message: ModelRequest, outcomes: Sequence[LoggedOutcome]) -> None:
        metadata = message.metadata or {}
        match metadata.get(RESTORED):
            case {"as_before": [*before], "changed": [*changed]}:
                for path in map(str, (*before, *changed)):
                    self._changed_in.note(path, number)
                    self._state.net.doubt(path, number)
        if isinstance(command := metadata.get(COMMAND), str) and outcomes:
            begun, text = begin_command(command), "\n".join(each.text for each in transcript_parts(message))
            self._follow(begun, ending_of(outcomes[0].fact, None, begun.line, text), outcomes[0], "", number)
        returned = [part for part in message.parts if isinstance(part, ToolReturnPart | RetryPromptPart)]
        recorded = list(outcomes)
        for at, part in enumerate(transcript_parts(message)):
            if part.by.endswith(_OF_TOOL) and returned:
                result = returned.pop(0)
                logged = next((each for each in recorded if each.fact.call_id == result.tool_call_id), None)
                if logged is not None:
                    recorded.remove(logged)
                self._answer((number, at), result, _REFUSALS.get(part.refusal, ""), logged)
            elif part.by == USER:
                if not (self._in_text and is_observation(part.text)):
                    if rejects(part.text):
                        self._take_back()
                    self._asked_before = self._asked_before or 0 <= self._asked_at < number
                    self._asks_only = _ASKS_ONLY.search(part.text) is not None
                    self._question = self._last_question if len(part.text) <= SHORT_CHARS else ""
                    self._asked_at, self._asked = number, one_line(part.text.replace('"', "'"), ASKED_CHARS)
                if self._in_text:
                    self._observe((number, at), part.text)

    def _answer(
        self,
        at: tuple[int, int],
        part: ToolReturnPart | RetryPromptPart,
        refusal: str,
        logged: LoggedOutcome | None,
    ) -> None:
        """Pair a result with the oldest call of its ID that has none: IDs are reused."""
        index = next((i for i, each in enumerate(self._pending) if each.call_id == part.tool_call_id), None)
        if index is None:
            return
        pending, text = self._pending.pop(index), unwrapped(content_text(part.content))
        ending = ending_of(logged.fact if logged is not None else None, part, pending.begun.line, text)
        if refusal and ending.outcome:
            ending = ending._replace(outcome=refusal)
        diff = diff_in({"metadata": getattr(part, "metadata", None)}) if not ending.outcome else ""
        self._end(pending, at, ending, text, logged, diff)

    def _observe(self, at: tuple[int, int], text: str) -> None:
        """The message after calls in text: their result, or the user's words."""
        waiting, self._in_text = self._in_text, []
        if is_observation(text):
            self._observed.add(at[0])
            self._end(waiting[0], at, Ending(), text, None)
            return
        unsure = {each.at for each in waiting if not each.is_sure}
        step = self.steps[waiting[0].step]
        kept = tuple(call for index, call in enumerate(step.calls) if index not in unsure)
        self.steps[waiting[0].step] = step._replace(calls=kept)

    def _give_up(self) -> None:
        """No result comes any more for calls before the last reply."""
        for pending in self._pending:
            self._replace(pending, lambda call: call._replace(outcome=INTERRUPTED))
        self._pending, self._in_text = [], []

    def _end(
        self,
        pending: _Pending,
        at: tuple[int, int],
        ending: Ending,
        text: str,
        logged: LoggedOutcome | None,
        diff: str = "",
    ) -> None:
        step = self.steps[pending.step]
        self._answered[at] = pending.step
        call = step.calls[pending.at]._replace(result_at=at)
        done = self._ended(call, pending.begun, ending, text, logged, diff)
        calls = (*step.calls[: pending.at], done, *step.calls[pending.at + 1 :])
        self.steps[pending.step] = step._replace(calls=calls)

    def _ended(
        self, call: Call, begun: Begun, ending: Ending, text: str, logged: LoggedOutcome | None, diff: str = ""
    ) -> Call:
        edits = self._follow(begun, ending, logged, diff, call.call_at[0])
        return call._replace(
            outcome=ending.outcome,
            error=ending.error,
            answer=answer_of(begun, ending, text, edits),
            changed=_written(logged) or tuple(edits) or (begun.names if logged is None and not ending.outcome else ()),
            read=() if ending.outcome else begun.read,
        )

    def _follow(
        self, begun: Begun, ending: Ending, logged: LoggedOutcome | None, diff: str, number: int
    ) -> dict[str, list[str]]:
        """A call or a command ended; returns the lines that it removed and added by its recorded diff, by file."""
        written = _written(logged)
        edits = {normpath(path): lines for path, lines in changes_in_diff(diff).items()}
        if len(edits) == len(written) == 1:  # the model may have named it in another way
            edits = dict(zip(written, edits.values(), strict=True))
        for path in dict.fromkeys((*written, *edits)):
            self._changed_in.note(path, number)
            if path in edits and (path in written or logged is None):
                self._state.net.add(path, number, edits[path], logged.seq if logged is not None else 0)
            else:
                self._state.net.doubt(path, number)
        is_complete = logged.fact.is_complete if logged is not None else begun.reads
        if not is_complete and not edits and not ending.never_ran:
            self._state.net.doubt_all(number)
        if logged is not None:
            self._doubt(logged.fact, number + 1)  # also the edits of the same message
        self._state.add(begun, ending, logged, number)
        if begun.line is None and begun.verb == AGENT:
            self._state.forget_runs()
        return edits

    def _doubt(self, fact: CallOutcome, number: int) -> None:
        """Files may have changed that are not recorded."""
        for each in fact.written:
            if each.get("is_covered") is False and isinstance(path := each.get("path"), str):
                self._state.net.note_uncovered(path)
        if fact.doubt == "all":
            self._state.net.doubt_all(number)
        elif fact.doubt:
            self._state.net.doubt_uncovered(number)

    def _replace(self, pending: _Pending, change: Any) -> None:
        step = self.steps[pending.step]
        calls = list(step.calls)
        calls[pending.at] = change(calls[pending.at])
        self.steps[pending.step] = step._replace(calls=tuple(calls))


def _call(at: tuple[int, int], begun: Begun) -> Call:
    """The texts are shared: a session makes the same calls and reads the same files again and again."""
    return Call(at, None, intern(begun.head), intern(begun.verb), read=tuple(map(intern, begun.read)), role=begun.role)


def _written(logged: LoggedOutcome | None) -> tuple[str, ...]:
    """The files that a call changed, as recorded; without caches."""
    paths = (each.get("path") for each in logged.fact.written) if logged is not None else ()
    return tuple(path for path in paths if isinstance(path, str) and GENERATED.isdisjoint(path.split("/")))


def _arguments(call: ToolCallPart) -> tuple[Mapping[str, Any], str]:
    """The arguments of a call; as written, if they cannot be read."""
    try:
        return call.args_as_dict(), ""
    except (ValueError, AssertionError, RecursionError):
        return {}, str(call.args)
