"""The work journal that replaces messages which left the context (C20): kept as text with what it covers.

It grows by appending while there is room, so that a provider's cached prefix lives, and is rewritten when there is
none: then older passages fade first, then older entries.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from co_tui.context.journal.calls import Role
from co_tui.context.journal.choose_lines import Candidate, Chooser, bare_names, focus_words
from co_tui.context.journal.conclusions import repeats
from co_tui.context.journal.entries import Entry, Head, Kind, Place, rendered
from co_tui.context.journal.shown_lines import bare_lines
from co_tui.context.journal.sources import (
    FINDING,
    Sources,
    as_cut_now,
    findings,
    fresh_candidates,
    merged,
    remembered,
    with_neighbours,
)
from co_tui.context.measure.count import estimate_text
from co_tui.context.memory.ledger import Ledger
from co_tui.context.memory.names import names_in
from co_tui.events.stored_messages import JOURNAL, SUMMARY

NAMES_SHARE: Final = 0.07
"""Of the budget: for names listed without a line."""
NAMES_A_TOKEN: Final = 1.5
LEAST_NAMES, MOST_NAMES = 200, 3_000
"""How many of the most important names are considered; grows with the budget."""
LATEST_STEPS: Final = 10
"""These keep their heads whatever happens."""
LATEST_SHARE: Final = 0.4
"""Of the budget: at most this goes to those heads."""
FINDINGS_SHARE: Final = 0.08
"""Of the budget: at most this goes to what the assistant found out, in its sentences."""
LATEST_EDITS, LATEST_READS, LATEST_RUNS = 1, 5, 2
PASSAGE_SHARE, PASSAGE_TOKENS = 0.08, 200
"""Of the budget, and in tokens: at most this goes to each of the latest edits, files read and commands run."""
LINES_SHARE: Final = 0.96
"""Of the budget: the rest is for folded steps."""
FILLED_SHARE: Final = 0.97
"""Of the budget: up to this, more lines are chosen, since entries cost less together than each alone."""
LEAST_APPENDED: Final = 0.2
"""Of its limit: with less room than this, a journal is rewritten."""
FIRST_SHARE: Final = 0.8
"""Of its limit: how long a journal begins."""
STORY_SHARE: Final = 0.4
"""Of a journal: at most this is a model's own summary."""
CACHE_BY_BLOCK: Final = ("anthropic", "bedrock")
"""Providers that cache prompts block by block, by how the names of their models begin: text appended to a block makes
all of it new. Others compare tokens, so that one text is enough for them."""


class Journal(NamedTuple):
    """What a request says about its past."""

    story: str = ""
    """A model's own summary, or the user's."""
    entries: tuple[Entry, ...] = ()
    blocks: tuple[str, ...] = ()
    """The text as sent: each appended piece apart."""
    covers: tuple[tuple[int, int], ...] = ()
    """The numbers of the messages it replaces, as first and last."""

    @property
    def text(self) -> str:
        return "\n\n".join(filter(None, (self.story, "\n".join(self.blocks))))

    @property
    def tokens(self) -> int:
        return estimate_text(self.text)

    def covered(self, number: int) -> bool:
        return any(first <= number <= last for first, last in self.covers)

    def as_json(self) -> dict[str, Any]:
        """What the text alone does not tell."""
        return {
            "story": len(self.story),
            "blocks": [len(block) for block in self.blocks],
            "entries": [entry.as_json() for entry in self.entries],
            "covers": [list(pair) for pair in self.covers],
        }

    @classmethod
    def from_json(cls, value: Any, text: str) -> "Journal":
        """The journal with this text; what is stored wrongly makes it a story."""
        match value:
            case {"story": int(story), "blocks": list(blocks), "entries": list(entries), "covers": list(covers)} if (
                0 <= story <= len(text)
            ):
                known = cls(
                    text[:story],
                    tuple(filter(None, map(Entry.from_json, entries))),
                    _cut(text[story:].removeprefix("\n\n") if story else text, blocks),
                    tuple((pair[0], pair[1]) for pair in covers if _is_range(pair)),
                )
                if known.text == text:
                    return known
        return cls(story=text)


def _cut(text: str, lengths: Sequence[Any]) -> tuple[str, ...]:
    blocks: list[str] = []
    for length in lengths:
        if isinstance(length, int):
            blocks.append(text[:length])
            text = text[length + 1 :]
    return tuple(blocks)


def _is_range(value: Any) -> bool:
    match value:
        case [int(first), int(last)]:
            return 0 <= first <= last
    return False


class JournalTask(NamedTuple):
    """What to write into a journal."""

    sources: Sources
    earlier: Journal
    messages: int
    """How many messages leave now; lines of those are all considered."""
    limit_tokens: float
    """The most it may take."""
    ration_tokens: float
    """How much may be appended."""
    standing: str = ""
    """Text shown with it."""
    focus: str = ""
    """What the user asked to keep above all."""


def appended(task: JournalTask) -> Journal | None:
    """The journal with entries for what leaves now; None if there is no room for them."""
    with task.sources.ledger.lock:
        return _appended(task._replace(sources=task.sources.shown_with(task.standing)))


def _appended(task: JournalTask) -> Journal | None:
    earlier, room = task.earlier, task.limit_tokens - task.earlier.tokens
    if earlier.text and room < min(task.ration_tokens, LEAST_APPENDED * task.limit_tokens):
        return None
    ration = min(room, task.ration_tokens) if earlier.text else FIRST_SHARE * task.limit_tokens
    fresh = _fresh(task)
    candidates = fresh_candidates(task.sources, fresh)
    standing = "\n".join((task.standing, earlier.text))
    written = _written(task, candidates, ration, standing)
    blocks = (*earlier.blocks, written.text) if written.text else earlier.blocks
    return earlier._replace(
        entries=(*earlier.entries, *written.entries), blocks=blocks, covers=_ranges(task.sources.gone)
    )


def rewritten(task: JournalTask, budget_tokens: float, story: str) -> Journal:
    """All that left, rewritten within the budget, with the story first."""
    with task.sources.ledger.lock:
        return _rewritten(task._replace(sources=task.sources.shown_with(task.standing)), budget_tokens, story)


def _rewritten(task: JournalTask, budget_tokens: float, story: str) -> Journal:
    sources, fresh = task.sources, _fresh(task)
    before = [each for each in task.earlier.entries if each.head.at[0] in sources.gone and each.head.at[1] != FINDING]
    candidates = merged(fresh_candidates(sources, fresh), as_cut_now(sources, before))
    weights = _heaviest(sources.ledger, budget_tokens)
    candidates = merged(candidates, with_neighbours(sources, remembered(sources, weights, frozenset(fresh))))
    room = budget_tokens - estimate_text(story)
    written = _written(task, candidates, room, "\n".join((task.standing, story)), every_step=True)
    return Journal(story, written.entries, (written.text,) if written.text else (), _ranges(sources.gone))


class _Written(NamedTuple):
    text: str
    entries: tuple[Entry, ...]


def _written(
    task: JournalTask, candidates: Sequence[Candidate], budget: float, standing: str, *, every_step: bool = False
) -> _Written:
    """Entries within the budget; with `every_step`, folded lines tell of all steps that left."""
    sources = task.sources
    weights = _heaviest(sources.ledger, budget)
    there = sources.names_there()
    for name in names_in(standing):
        there[name] = there.get(name, 0) + 1
    focus = focus_words(task.focus)
    shown = bare_lines(standing) | sources.lines_there()
    chooser = Chooser(weights, budget * (LINES_SHARE - NAMES_SHARE), there, shown, focus)
    if every_step:
        candidates = _with_findings(chooser, candidates, findings(sources, standing), budget * FINDINGS_SHARE)
    _open_latest(chooser, candidates, budget * LATEST_SHARE, min(budget * PASSAGE_SHARE, PASSAGE_TOKENS))
    chooser.choose(candidates)
    places = {name: place for name in weights if (place := sources.last_place(name)) is not None}
    names = bare_names(weights, there, places, budget * NAMES_SHARE)
    heads = {each.head.at: each.head for each in candidates}
    if every_step:
        heads.update((head.at, head) for number in sources.gone for head in sources.calls(number))
    written = _rendered(candidates, heads, names)
    chooser.budget = budget * FILLED_SHARE - estimate_text(written.text)
    chooser.choose(candidates)
    written = _rendered(candidates, heads, names)
    while (over := estimate_text(written.text) - budget) > 0 and chooser.give_back(over):
        written = _rendered(candidates, heads, names)
    return written


def _rendered(
    candidates: Sequence[Candidate], heads: Mapping[Place, Head], names: Mapping[Place, Sequence[str]]
) -> _Written:
    """The entries of the open candidates; other steps are folded."""
    entries = {
        each.head.at: each.entry._replace(names=tuple(names.get(each.head.at, ())))
        for each in candidates
        if each.is_open
    }
    texts = rendered([heads[place] for place in sorted(heads)], entries, names)
    return _Written("\n".join(texts), tuple(entries[place] for place in sorted(entries)))


def _open_latest(chooser: Chooser, candidates: Sequence[Candidate], room: float, passage_room: float) -> None:
    """Show the latest steps, the last edit of each kind with what it changed, where the user spoke, and passages of
    what was read and printed last, which is worked on next."""
    calls = [each for each in candidates if each.head.kind is Kind.CALL]
    prompts = [each for each in candidates if each.head.kind is Kind.USER]
    edits = _newest_of_each(each for each in calls if each.role in (Role.EDITED, Role.SHOWED_CHANGES))
    steps = _newest_of_each(calls, with_result=True)
    for candidate in (*steps[:LATEST_STEPS], *edits, *reversed(prompts)):
        if candidate.head_cost > room:
            break
        room -= candidate.head_cost
        chooser.open(candidate)
    for candidate in edits:
        chooser.show_best(candidate)
    reads = _newest_of_each(each for each in calls if each.role in (Role.READ_LAST, Role.LOOKED))
    runs = _newest_of_each(each for each in calls if each.role is Role.RAN and not each.is_dull)
    for candidate in (*edits[:LATEST_EDITS], *reads[:LATEST_READS], *runs[:LATEST_RUNS]):
        chooser.show_around_best(candidate, passage_room)


def _newest_of_each(calls: Iterable[Candidate], *, with_result: bool = False) -> list[Candidate]:
    """Of calls that are alike, the newest; the newest first. `with_result`, those that came to the same."""
    found: dict[tuple[str, ...], Candidate] = {}
    for each in calls:
        key = (each.head.text, *((each.head.outcome, each.head.came) if with_result else ()))
        found.pop(key, None)
        found[key] = each
    return [*reversed(found.values())]


def _with_findings(
    chooser: Chooser, candidates: Sequence[Candidate], found: Sequence[Candidate], room: float
) -> list[Candidate]:
    """The candidates with what the assistant found out, the strongest first; it replaces the lines that say it."""
    shown: dict[int, Candidate] = {}
    for finding in found:
        cost = finding.head_cost + finding.weighed[0].cost
        if cost <= room and chooser.show_best(finding, opening=True):
            shown[finding.head.at[0]] = finding
            room -= cost
    others = (_without(each, shown.get(each.head.at[0])) for each in candidates)
    return sorted((*filter(None, others), *shown.values()), key=lambda each: each.head.at)


def _without(candidate: Candidate, finding: Candidate | None) -> Candidate | None:
    """What a text says other than what was found out; None if nothing is left."""
    if finding is None or candidate.head.kind is not Kind.SAID:
        return candidate
    left = [line for line in candidate.lines if not repeats(line.text, finding.lines[0].text)]
    return replace(candidate, lines=left, role=Role.REST) if left else None


def _heaviest(ledger: Ledger, budget_tokens: float) -> dict[str, float]:
    return ledger.heaviest(min(MOST_NAMES, LEAST_NAMES + int(NAMES_A_TOKEN * max(0.0, budget_tokens))))


def _fresh(task: JournalTask) -> list[int]:
    """The numbers of the messages that leave now, or as many of the newest as there are."""
    new = sorted(number for number in task.sources.gone if not task.earlier.covered(number))
    return new[-task.messages :] if task.messages else []


def _ranges(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return tuple(ranges)


def in_cache_blocks(messages: Sequence[ModelMessage], model: str) -> list[ModelMessage]:
    """The messages to send to a model; each appended piece of a journal is a block if its provider caches blocks."""
    if not model.startswith(CACHE_BY_BLOCK):
        return list(messages)
    return [_in_blocks(message) for message in messages]


def _in_blocks(message: ModelMessage) -> ModelMessage:
    metadata = message.metadata or {}
    if not isinstance(message, ModelRequest) or JOURNAL not in metadata:
        return message
    pieces = Journal.from_json(metadata[JOURNAL], metadata[SUMMARY]).blocks[1:]
    parts = [_split(part, pieces) if isinstance(part, UserPromptPart) else part for part in message.parts]
    return replace(message, parts=parts)


def _split(part: UserPromptPart, pieces: Sequence[str]) -> UserPromptPart:
    """The text with each of the pieces, which it ends with, as a block of its own."""
    if not pieces or not isinstance(part.content, str) or not part.content.endswith("\n".join(("", *pieces))):
        return part
    first = part.content.removesuffix("\n".join(("", *pieces)))
    return replace(part, content=[first, *(f"\n{piece}" for piece in pieces)])
