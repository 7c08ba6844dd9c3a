"""The lens on the next request: what it is made from, and what it shows. Pure: calls no model, writes nothing, and does
not disturb the conversation."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from pydantic_ai.messages import ModelRequest
from pydantic_core import to_json

from co_tui.context.measure.count import FALLBACK_WINDOW_TOKENS, Reading, Scaffold, Window, apportion, system_tokens
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import Policy, policy_of
from co_tui.context.request.pipeline import Governor
from co_tui.context.request.stages import split_note
from co_tui.events import CompactionComplete, UsageInfo
from co_tui.events.stored_messages import RECOLLECTED
from co_tui.events.wording import percent
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.history.next_request import NextRequest, RequestSource, next_request, note_in, pinned_in
from co_tui.session.history.originals import original_history
from co_tui.session.lens.fates import Fates
from co_tui.session.lens.last_viewed import NEVER_VIEWED, LastView
from co_tui.session.lens.left_messages import left_messages
from co_tui.session.lens.request_rows import Fate, Judgement, Kind, Lens, LensMessage, kind_of
from co_tui.session.state.derive import NOT_REWRITTEN
from co_tui.session.state.parsed_messages import ParsedMessages
from co_tui.session.state.session_state import SessionState
from co_tui.session.tools.archive import archived
from co_tui.settings import Settings


class LensSource(NamedTuple):
    """Everything the next request of a session is made from, detached from the session."""

    state: SessionState
    policy: Policy
    policy_name: str
    window: Window
    meter: Meter
    parsed: ParsedMessages
    scaffold: Scaffold
    awaits_prompt: bool = True
    """Whether a prompt comes first; otherwise a turn is running."""
    is_own: bool = True
    """Whether the policy is the session's own."""
    suppressed_lengths: range = range(0)
    """History lengths at which automatic compaction is suppressed: the last attempt freed too little or was
    declined."""


def source_of(history: GovernedHistory, settings: Settings, *, is_own: bool = True) -> LensSource:
    """The source for a session open in this process; a copy, which may be read in a thread."""
    return LensSource(
        history.state,
        policy_of(settings),
        settings.policy,
        history.governor.window,
        history.governor.meter.copied(),
        history.parsed.copied(),
        history.predicted_scaffold(policy_of(settings)),
        history.awaits_prompt,
        is_own,
        history.governor.suppressed_lengths if is_own else range(0),
    )


def stored_source(
    state: SessionState,
    settings: Settings,
    *,
    ratio: float | None = None,
    recorded_window: Callable[[str], int | None] = lambda _: None,
    is_own: bool = True,
    in_turn: bool = False,
) -> LensSource:
    """The source for a stored session, from its log. `ratio` is its model's learned token ratio."""
    meter = Meter(ratio, provider=state.model.partition(":")[0])
    scaffold = meter.restore(state.learnt.get(state.model, {}))
    return LensSource(
        state,
        policy_of(settings),
        settings.policy,
        _window(state, settings, recorded_window),
        meter,
        ParsedMessages(),
        scaffold,
        not in_turn and not state.pending,
        is_own,
    )


def on_whole_conversation(source: LensSource) -> LensSource:
    """The same as if nothing had been summarised so far, so that policies can be compared; what was cleared or rewound
    stays out."""
    state = source.state
    whole = original_history(state)
    if whole is None:
        return source
    rewrites = tuple(each for each in state.rewrites if not isinstance(each.event.fact, CompactionComplete))
    state = state.but(history=whole, rewrites=rewrites, usage_holds=False, **NOT_REWRITTEN)
    return source._replace(state=state, suppressed_lengths=range(0))


def _window(state: SessionState, settings: Settings, recorded: Callable[[str], int | None]) -> Window:
    if settings.context_window:
        return Window(tokens=settings.context_window, known=True)
    if state.usage is not None and state.usage.model == state.model:
        return Window(tokens=state.usage.token_limit, known=state.usage.limit_known)
    tokens = recorded(state.model)
    return Window(tokens=tokens or FALLBACK_WINDOW_TOKENS, known=tokens is not None)


def read_lens(source: LensSource, since: LastView = NEVER_VIEWED) -> Lens:
    """The next request, and what left the context since a view; without one, everything that ever left."""
    governor = Governor(
        source.policy,
        source.window,
        keep=partial(archived, source.parsed),
        meter=source.meter,
        suppressed_lengths=source.suppressed_lengths,
    )
    state = source.state
    recollection = state.recollection if source.policy.recollection_share else None
    note = note_in(state.history, recollection) if recollection is not None else None
    entries, pinned = state.history, pinned_in(state.history, state.pins)
    of = RequestSource(source.parsed.messages(entries), entries, pinned, note, state)
    following = next_request(governor, of, source.scaffold, source.awaits_prompt, _last_reading(source))
    fates, reading = Fates(governor, following), following.reading
    rows = list(_rows(source, governor, following, fates))
    return Lens(
        policy=source.policy_name,
        model=state.model,
        reading=reading,
        messages=_with_tokens(source, reading, rows, governor.meter),
        left=left_messages(state, following, rows, since, source.parsed, governor.meter),
        left_since=since,
        seq=state.seq,
        due=_plan_sentence(following, fates),
        is_compacted_first=following.plan is not None,
    )


def _last_reading(source: LensSource) -> Reading | None:
    """The last measurement, if nothing has changed since: the gauge shows the same."""
    usage = source.state.usage
    if usage is None or not source.is_own or not source.state.usage_holds:
        return None
    if usage.token_limit != source.window.tokens or usage.model != source.state.model:
        return None
    return reading_of(usage)


def reading_of(usage: UsageInfo) -> Reading:
    return Reading(
        system_tokens=usage.system_tokens,
        conversation_tokens=usage.conversation_tokens,
        tool_definition_tokens=usage.tool_definition_tokens,
        messages_count=usage.messages_count,
        window=Window(tokens=usage.token_limit, known=usage.limit_known),
        measured=usage.measured,
        most_tokens=usage.current_tokens,
    )


def _rows(source: LensSource, governor: Governor, following: NextRequest, fates: Fates) -> Iterator[LensMessage]:
    """The messages, without their tokens yet."""
    entries, origins = source.state.history, list(following.measured.origins)
    messages = source.parsed.messages(entries)
    indexes = governor.measured_indexes(following.messages, following.measured)
    for index, message in zip(indexes, following.messages, strict=True):
        origin = origins[index] if index is not None else None
        if index is None or origin is None:
            if source.awaits_prompt:  # while a turn runs, the answer is still coming
                yield LensMessage(kind_of(message), 0, Judgement(Fate.KEPT, "Answers an interrupted call."), message)
            continue
        entry, fate = entries[origin], fates.of(index, message)
        if isinstance(message, ModelRequest) and RECOLLECTED in (message.metadata or {}):
            said, note = split_note(message)
            rows = (
                LensMessage(kind_of(said), 0, fate, said, "", entry.ref, entry.turn),
                LensMessage(Kind.RECOLLECTED, 0, Judgement(Fate.RECOLLECTED, _recollected(source.state)), note),
            )
            yield from reversed(rows) if note.parts[0] is message.parts[0] else rows
            continue
        seen = LensMessage(kind_of(message), 0, fate, message, "", entry.ref, entry.turn)
        yield seen._replace(stored=entry.message) if messages[origin] is message else seen


def _recollected(state: SessionState) -> str:
    """What was brought back, and from where."""
    fact = state.recollection
    if fact is None:
        return ""
    lines = f"{fact.lines:,} lines" if fact.lines != 1 else "A line"
    said = [entry for ref in fact.sources if (entry := state.entry(ref)) is not None]
    turns = ", ".join(dict.fromkeys(str(entry.turn) for entry in said if entry.turn)) or "–"
    where = f" From turn {turns}: event {', '.join(str(entry.seq) for entry in said)}." if said else ""
    return f"{lines} brought back as relevant to the message above.{where}"


def _with_tokens(source: LensSource, reading: Reading, rows: Sequence[LensMessage], meter: Meter) -> list[LensMessage]:
    """Everything in the request, with its share of the measured tokens."""
    given = _given(source, reading)
    messages = [row.message for row in rows if row.message is not None]
    of_system = [system_tokens(message) for message in messages]
    of_rest = [max(0.0, meter.tokens(m) - meter.ratio * n) for m, n in zip(messages, of_system, strict=True)]
    system = apportion(reading.system_tokens, [*(each.tokens for each in given), *of_system])
    rest = apportion(reading.conversation_tokens, of_rest)
    scaffold = [
        *(each._replace(tokens=own, system_tokens=own) for each, own in zip(given, system, strict=False)),
        LensMessage(Kind.TOOLS, reading.tool_definition_tokens, _ALWAYS, given=_tools_text(source.scaffold)),
    ]
    counted = zip(rows, system[len(given) :], rest, strict=True)
    return [
        *(each for each in scaffold if each.tokens or each.given),
        *(row._replace(tokens=own + other, system_tokens=own) for row, own, other in counted),
    ]


_ALWAYS = Judgement(Fate.KEPT, "Sent with every request.")
_BOARD = Judgement(Fate.KEPT, "Notes from earlier sessions, sent with every request.")


def _given(source: LensSource, reading: Reading) -> list[LensMessage]:
    """What comes before the conversation, if known: the instructions, and the context board the session started
    with."""
    text, tokens = source.scaffold.instructions, source.scaffold.instructions_tokens or reading.system_tokens
    board = source.state.board
    if board is None or not board.note or (text and board.note not in text):
        return [LensMessage(Kind.SYSTEM, tokens, _ALWAYS, given=text)]
    of_board = min(tokens, board.tokens)
    return [
        LensMessage(Kind.SYSTEM, tokens - of_board, _ALWAYS, given=text.replace(board.note, "").strip()),
        LensMessage(Kind.BOARD, of_board, _BOARD, given=board.note),
    ]


def _tools_text(scaffold: Scaffold) -> str:
    if not scaffold.tools:
        return "\n".join(scaffold.tool_names)
    return "\n\n".join(
        f"{tool.name}\n{tool.description or ''}\n{to_json(tool.parameters_json_schema).decode()}"
        for tool in scaffold.tools
    )


def _plan_sentence(following: NextRequest, fates: Fates) -> str:
    plan = following.plan
    if plan is None:
        over = following.prepared.overshoot_tokens
        return f"{over:,} tokens too long." if over else ""
    count = "1 message is" if fates.going_count == 1 else f"{fates.going_count:,} messages are"
    if plan.texts_only:
        return f"Before sending, {count} reduced to the first and last text of each turn."
    when = "Before sending" if plan.waits else "In the background, with the next turn"
    return f"{when}, {count} summarised: the window is {percent(following.whole.share)} full."
