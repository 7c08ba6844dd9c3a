"""Follow a conversation step by step: what was called, how it ended, what changed, what was concluded."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
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
from co_tui.context.journal.calls import EDIT, Begun, Role, begin_call, changed_by
from co_tui.context.journal.command_runs import PathIndex
from co_tui.context.journal.conclusions import (
    STRONG,
    announcement,
    concluded,
    greets,
    last_question,
    names_nothing,
    only_says_it_fails,
    only_says_it_works,
    rejects,
    retracts,
    strength_of,
)
from co_tui.context.journal.errors import as_error_line
from co_tui.context.journal.net_changes import GAP, patch_changes
from co_tui.context.journal.outcomes import DONE, PRINTED_AN_ERROR, Ending, done_by, end_of_command, end_of_tool
from co_tui.context.journal.shell_edits import Script, documents_of, edits_of, script_run_by
from co_tui.context.journal.shell_files import Change, base_name, stashed_by
from co_tui.context.journal.work_state import LeftOut, WorkState
from co_tui.context.measure.count import estimate_text
from co_tui.context.memory.text_calls import TextCall, is_observation, pieces_of
from co_tui.context.memory.transcript_lines import DENIED_BY_USER, NOT_ALLOWED, USER, transcript_parts
from co_tui.context.memory.unwrap import unwrapped
from co_tui.events.content import content_text
from co_tui.events.stored_messages import RESTORED
from co_tui.events.tool_wording import FAILED, INTERRUPTED
from co_tui.inert import one_line
from co_tui.late_pattern import late_pattern
from co_tui.shell.programs import Simple

_REFUSALS: Final = {DENIED_BY_USER: "denied by the user", NOT_ALLOWED: "not allowed"}
_OF_TOOL: Final = " returned"
"""How the speaker of a result ends, as `transcript_parts` names it."""


UNDONE, RESTORED_LATER, SET_ASIDE = "undone by the user", "undone later", "set aside later"
"""The outcomes of edits that no longer count."""
_UNDONE: Final = frozenset((UNDONE, RESTORED_LATER, SET_ASIDE))
ANSWERED_ABOVE: Final = "was answered above."
BEGUN_ABOVE: Final = "was asked before the last {} above, which {} for it."
SHORT_CHARS: Final = 80
"""A longer message of the user says more than that something was wrong."""
WHY_CHARS: Final = 100
"""Of what was said when edits were undone."""
ASKED_CHARS: Final = 60
"""Of the request that is meant."""
ANNOUNCED_CHARS: Final = 200
LEAST_STATE_TOKENS: Final = 200
"""With less room, the state does not say how far the last request is."""
_UNDO: Final = late_pattern(r"(?:\s*^/undo[ \t]*$)+", re.MULTILINE)
"""How a message begins by which a user undoes the last edits, in some programs."""
_ASKS_ONLY: Final = late_pattern(r"^/ask\b", re.MULTILINE)
"""In a message of the user: the edits in the answer are not applied, in some programs."""

_OVERWRITTEN: Final = late_pattern(r"\b(?:has been|was|successfully) (?:updated|overwritten)\b", re.IGNORECASE)
"""What a tool says that wrote a file which was there before."""
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
    read: tuple[str, ...] = ()
    in_text: bool = False
    """Whether it was written in the text of the reply."""
    time: int = 1
    """Which of the calls with the same head it is."""

    @property
    def is_in_effect(self) -> bool:
        """Whether it is an edit that was made and not undone."""
        return bool(self.changed) and self.outcome in DONE

    @property
    def is_undone(self) -> bool:
        return self.outcome.partition(" (")[0] in _UNDONE


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

    @property
    def is_undone(self) -> bool:
        """Whether an edit of it was undone."""
        return any(call.is_undone for call in self.calls)


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
        self._scripts: dict[str, Script] = {}
        """Python files that were written, by their names."""
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
        self._edited: dict[str, list[int]] = {"": []}
        """Files → the steps that edited them; under no name, those that edited any."""
        self._given_up: list[tuple[int, int]] = []
        """The numbers of replies from the first edit of a file to what brought it back as it was before."""
        self._state = WorkState()

    def add(self, message: ModelMessage) -> None:
        """Follow the next message of the conversation."""
        number, self._messages = self._messages, self._messages + 1
        if isinstance(message, ModelResponse):
            self._add_reply(number, message)
        else:
            self._add_request(number, message)

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
                yield self._state.files.removed_after(path, call.call_at[0])

    def observes(self, number: int) -> bool:
        """Whether a user message is the result of a call in text, not the user's words."""
        return number in self._observed

    @property
    def left_out(self) -> LeftOut:
        """How many commands begin, which the state says once."""
        return self._state.left_out

    def state_text(self, budget_tokens: float, gone: Collection[int]) -> str:
        """Where the work stands, within the budget; `gone` are the messages that are no longer in the request."""
        request = self._on_last_request(gone) if budget_tokens > LEAST_STATE_TOKENS else ""
        newest = len(self.steps)
        conclusions: dict[str, int] = {}
        for step in self.conclusions(gone):
            conclusions.pop(step.concluded, None)
            conclusions[step.concluded] = newest - bisect_left(self.steps, step.number, key=lambda each: each.number)
        state = self._state.text(budget_tokens - estimate_text(request), conclusions, gone)
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

    def conclusions(self, numbers: Collection[int]) -> list[Step]:
        """The steps among these messages that concluded something which was not undone or overtaken later."""
        edits = [step.number for step in self.steps if any(call.changed for call in step.calls)]
        last_edit = max(edits, default=-1)
        mended = max((number for number in edits if number < self._state.good_at), default=-1)
        return [
            step
            for step in self.steps
            if step.concluded
            and step.number in numbers
            and not step.is_undone
            and not self._is_given_up(step)
            and not (step.number < last_edit and only_says_it_works(step.concluded))
            and not (step.number <= mended and only_says_it_fails(step.concluded))
        ]

    def _is_given_up(self, step: Step) -> bool:
        """Whether a step only said how the work stood with edits that were undone later."""
        is_within = any(first <= step.number <= last for first, last in self._given_up)
        return is_within and names_nothing(step.concluded) and strength_of(step.concluded) < STRONG

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
                changes = tuple(change._replace(is_unclear=not each.is_sure) for change in begun.changes)
                yield self._ended(call, begun._replace(changes=changes), Ending(), "")

    def _add_request(self, number: int, message: ModelRequest) -> None:
        match (message.metadata or {}).get(RESTORED):
            case {"folder": str(folder), "as_before": [*before], "changed": [*changed]}:
                self._state.files.restore(folder, map(str, before), map(str, changed), number)
                for path in (*before, *changed):
                    self._changed_in.note(str(path), number)
        returned = [part for part in message.parts if isinstance(part, ToolReturnPart | RetryPromptPart)]
        for at, part in enumerate(transcript_parts(message)):
            if part.by.endswith(_OF_TOOL) and returned:
                self._answer((number, at), returned.pop(0), _REFUSALS.get(part.refusal, ""))
            elif part.by == USER:
                if not (self._in_text and is_observation(part.text)):
                    if rejects(part.text):
                        self._take_back()
                    self._asked_before = self._asked_before or 0 <= self._asked_at < number
                    self._asks_only = _ASKS_ONLY.search(part.text) is not None
                    self._question = self._last_question if len(part.text) <= SHORT_CHARS else ""
                    self._asked_at, self._asked = number, one_line(part.text.replace('"', "'"), ASKED_CHARS)
                for _ in found[0].split() if (found := _UNDO.match(part.text)) else ():
                    self._undo_last()
                if self._in_text:
                    self._observe((number, at), part.text)

    def _answer(self, at: tuple[int, int], part: ToolReturnPart | RetryPromptPart, refusal: str) -> None:
        """Pair a result with the oldest call of its ID that has none: IDs are reused."""
        index = next((i for i, each in enumerate(self._pending) if each.call_id == part.tool_call_id), None)
        if index is None:
            return
        pending, text = self._pending.pop(index), unwrapped(content_text(part.content))
        if refusal:
            ending = Ending(refusal)
        elif isinstance(part, RetryPromptPart):
            ending = Ending(FAILED, as_error_line(text))
        elif part.outcome == INTERRUPTED:
            ending = Ending(INTERRUPTED)
        else:
            ending = _ending(pending.begun, text)
            if part.outcome == FAILED and not ending.outcome:
                ending = Ending(FAILED, as_error_line(text))
        self._end(pending, at, ending, text)

    def _observe(self, at: tuple[int, int], text: str) -> None:
        """The message after calls in text: their result, or the user's words."""
        waiting, self._in_text = self._in_text, []
        if is_observation(text):
            self._observed.add(at[0])
            self._end(waiting[0], at, _ending(waiting[0].begun, text), text)
            return
        unsure = {each.at for each in waiting if not each.is_sure}
        step = self.steps[waiting[0].step]
        kept = tuple(call for index, call in enumerate(step.calls) if index not in unsure)
        self.steps[waiting[0].step] = step._replace(calls=kept)

    def _undo_last(self, path: str = "") -> None:
        """The user undid the edits of the newest reply with any; or a tool the newest edit of a file."""
        for at in reversed(self._steps_that_edited([path])):
            edits = [call for call in self.steps[at].calls if call.is_in_effect]
            if path:
                edits = [call for call in edits if path in call.changed][-1:]
            if edits:
                number, changed = self._messages - 1, [name for call in edits for name in call.changed]
                self._state.files.undo(changed, number)
                for name in changed:
                    self._changed_in.note(name, number)
                self._end_edits(at, edits, RESTORED_LATER if path else UNDONE)
                return

    def _stashed(self, line: Sequence[Simple], text: str) -> tuple[Change, ...]:
        """The files that a command brought back as they were, until their edits are made again."""
        times, restored = stashed_by(line, text), tuple[Change, ...]()
        if times > 0:
            restored = self._state.files.set_aside()
            self._undo([change.path for change in restored], SET_ASIDE)
        elif times < 0:
            self._state.files.bring_back(self._state.calls)
            for at, step in enumerate(self.steps):
                self._end_edits(at, [call for call in step.calls if call.outcome == SET_ASIDE], "")
        return restored

    def _undo(self, paths: Collection[str], outcome: str) -> None:
        """A command brought files back as they were before the edits."""
        ended: dict[int, list[Call]] = {}
        for at in self._steps_that_edited(paths):
            calls = self.steps[at].calls
            edits = [each for each in calls if each.is_in_effect and set(paths).issuperset(each.changed)]
            if edits:
                ended[at] = edits
        why = one_line(self.steps[-1].concluded.replace('"', "'"), WHY_CHARS) if outcome == RESTORED_LATER else ""
        for at, edits in ended.items():
            self._end_edits(at, edits, f'{outcome} ("{why}")' if why and at == max(ended) else outcome)
        if ended and outcome == RESTORED_LATER:
            first = min(ended)
            if not any(call.is_in_effect for step in self.steps[first:] for call in step.calls):
                self._given_up.append((self.steps[first].number, self.steps[-1].number))

    def _steps_that_edited(self, paths: Iterable[str]) -> list[int]:
        """The steps before this one that edited one of these files, in order; of no name, those that edited any."""
        found = {at for path in paths for at in self._edited.get(path, ()) if at < len(self.steps)}
        return sorted(found)

    def _end_edits(self, at: int, edits: Collection[Call], outcome: str) -> None:
        """Edits of a step no longer count."""
        if edits:
            step = self.steps[at]
            calls = (call._replace(outcome=outcome) if call in edits else call for call in step.calls)
            self.steps[at] = step._replace(calls=tuple(calls))

    def _give_up(self) -> None:
        """No result comes any more for calls before the last reply."""
        for pending in self._pending:
            self._replace(pending, lambda call: call._replace(outcome=INTERRUPTED))
        self._pending, self._in_text = [], []

    def _end(self, pending: _Pending, at: tuple[int, int], ending: Ending, text: str) -> None:
        step = self.steps[pending.step]
        self._answered[at] = pending.step
        call = step.calls[pending.at]._replace(result_at=at)
        done = self._ended(call, pending.begun, ending, text)
        calls = (*step.calls[: pending.at], done, *step.calls[pending.at + 1 :])
        self.steps[pending.step] = step._replace(calls=calls)

    def _ended(self, call: Call, begun: Begun, ending: Ending, text: str) -> Call:
        changes: tuple[Change, ...] = changed_by(begun, ending.outcome, text)
        if begun.undoes:
            for change in changes:
                self._undo_last(change.path)
            changes = ()
        self._follow_scripts(begun, {base_name(change.path) for change in changes})
        for script in self._scripts_run(begun, ending, text):
            changes += tuple(map(Change, script.files))
            if len(script.files) == 1:
                begun = begun._replace(edits={**begun.edits, script.files[0]: script.edits}, may_miss=True)
        done = done_by(begun.line, ending.outcome, text)
        if begun.line and done != begun.line:
            begun = begun._replace(edits=edits_of(done), documents=documents_of(done))
        changes = self._stashed(done, text) + self._state.files.as_restored(changes, done, text)
        if changes and begun.line is None and _OVERWRITTEN.search(text[:400]):
            self._state.files.was_there(changes[0].path)
        self._state.add(begun, ending, changes, call.call_at[0])
        if begun.role is Role.SHOWED_CHANGES and not ending.outcome and call.result_at is not None and _is_whole(begun):
            self._state.files.show_changes(call.result_at[0], patch_changes(text))
        changed = tuple(change.path for change in changes)
        if restored := [change.path for change in changes if change.is_restored]:
            self._undo(restored, RESTORED_LATER)
        self._note_edits(call.call_at[0], changed)
        read = () if ending.outcome else begun.read
        if begun.reads:
            self._state.files.saw(read, text, begun.folder, is_whole=begun.shows_whole)
        answer = answer_of(begun, ending, text)
        return call._replace(outcome=ending.outcome, error=ending.error, answer=answer, changed=changed, read=read)

    def _note_edits(self, number: int, paths: Collection[str]) -> None:
        """A step edited these files."""
        step = bisect_left(self.steps, number, key=lambda each: each.number)
        for path in paths:
            self._changed_in.note(path, number)
        for path in ("", *paths) if paths else ():
            self._edited.setdefault(path, []).append(step)

    def _follow_scripts(self, begun: Begun, written: Collection[str]) -> None:
        """Python files were written or changed."""
        self._scripts.update({name: script for name, script in begun.scripts.items() if name in written})
        for name in self._scripts.keys() & written - begun.scripts.keys():  # what it replaces now is not known
            self._scripts[name] = self._scripts[name]._replace(edits=())

    def _scripts_run(self, begun: Begun, ending: Ending, text: str) -> Iterator[Script]:
        """The scripts that ran well, or may have before what failed."""
        done = () if ending.outcome == PRINTED_AN_ERROR else done_by(begun.line, ending.outcome, text)
        for name in map(script_run_by, done):
            if name in self._scripts and f'{name}", line ' not in text:  # as a traceback names it
                script = self._scripts[name]
                yield script._replace(edits=()) if any(each in text for each in script.misses) else script

    def _replace(self, pending: _Pending, change: Any) -> None:
        step = self.steps[pending.step]
        calls = list(step.calls)
        calls[pending.at] = change(calls[pending.at])
        self.steps[pending.step] = step._replace(calls=tuple(calls))


def _call(at: tuple[int, int], begun: Begun) -> Call:
    """The texts are shared: a session makes the same calls and reads the same files again and again."""
    return Call(at, None, intern(begun.head), intern(begun.verb), read=tuple(map(intern, begun.read)), role=begun.role)


def _is_whole(begun: Begun) -> bool:
    """Whether a command that shows a patch shows all that was changed since the last commit in the files it names."""
    programs = [simple for simple in begun.line or () if simple.program not in ("cd", "cat", "head", "tail")]
    if not programs:  # a patch that was written before
        return True
    words = [word for simple in programs for word in simple.words[1:]]
    return len(programs) == 1 and words[:1] == ["diff"] and all(_is_plain(word) for word in words[1:])


def _is_plain(word: str) -> bool:
    return word in ("HEAD", "--", "--no-color", "--no-pager") or ("." in word[1:] and not word.startswith("-"))


def _ending(begun: Begun, text: str) -> Ending:
    if begun.line is not None:
        return end_of_command(begun.line, text)
    return end_of_tool(text, reads=begun.reads, edits=begun.run.program == EDIT)


def _arguments(call: ToolCallPart) -> tuple[Mapping[str, Any], str]:
    """The arguments of a call; as written, if they cannot be read."""
    try:
        return call.args_as_dict(), ""
    except (ValueError, AssertionError, RecursionError):
        return {}, str(call.args)
