"""One account of a compaction: whoever shows it shows the same figures, and they add up."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall

from co_tui.events import CompactionComplete, Event
from co_tui.events.wording import counted
from co_tui.exchange.exporters import exported
from co_tui.headless.sessions.show_command import show
from co_tui.session.compaction.compactor import CompactionRefused
from co_tui.session.session import Session
from co_tui.session.slash.command_host import CommandFunction
from co_tui.session.slash.reports_commands import context, history
from co_tui.session.state.out_of_context import out_of_context
from co_tui.session.state.removals import DOES_NOT_FIT, NEVER_SENT
from co_tui.session.turns.turn import Outcome
from co_tui.settings import Settings
from co_tui.store.sqlite.store import SqliteStore
from co_tui.ui.compaction.kept_messages import KEPT_WHOLE, QUOTED, KeptRow, figures_after, kept_rows
from tests.support.environments import ScriptedModel, environment_for
from tests.support.lens import lens_of
from tests.support.long_run import LONG_RUN, drawn

RULES = ("", "Never touch the migrations. ", "Always run the tests first. ")


class Turn:
    """A prompt, how many files are read for it, and how long files and replies are."""

    def __init__(self, rule: str, prompt_words: int, reads: int, words: int, ends: str) -> None:
        self.prompt = f"{rule}{'Please look at this. ' * prompt_words}"
        self.reads, self.words, self.ends = reads, words, ends

    def __repr__(self) -> str:
        return f"Turn({self.prompt!r}, {self.reads}, {self.words}, {self.ends!r})"


TURNS = st.lists(
    st.builds(
        Turn,
        st.sampled_from(RULES),
        st.integers(1, 40),
        st.integers(0, 3),
        st.sampled_from((5, 80, 600)),
        st.sampled_from(("", "", "compact", "deep", "pin", "pin many", "undo", "edit")),
    ),
    min_size=2,
    max_size=9,
)


class Model(ScriptedModel):
    """Reads as many files as the turn says, then answers."""

    def __init__(self) -> None:
        super().__init__(self._script, window=12_000)
        self.turn, self.left = Turn("", 1, 0, 5, ""), 0

    def begin(self, turn: Turn) -> None:
        self.turn, self.left = turn, turn.reads

    async def _script(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        if self.left:
            self.left -= 1
            yield {0: DeltaToolCall("read", f'{{"words": {self.turn.words}}}')}
        else:
            yield "It is a fine module. " * (self.turn.words // 4 + 1)


def read(words: int) -> str:
    return "A line of the file that was read.\n" * (words // 6 + 1)


def check(event: Event, session: Session) -> None:
    fact, state = event.fact, session.state
    assert isinstance(fact, CompactionComplete)
    replaced = len(fact.replaced)
    assert fact.pre_messages == replaced + fact.kept_messages
    assert fact.post_messages == fact.kept_messages + len(fact.replacement)
    parts = (fact.fixed_tokens, fact.kept_tokens, fact.summary_tokens, fact.quoted_tokens)
    assert sum(parts) == fact.post_tokens and min(parts) >= 0
    now = replaced if fact.summarised_now is None else fact.summarised_now  # it is None for an edited summary
    assert now <= replaced and (fact.edited or fact.summarised_now is not None)
    said = counted(now, "more message") if fact.originals > now else f"{now} of {fact.pre_messages} messages"
    assert said in str(fact.export_entry())
    assert fact.edited or (said in fact.outcome_sentence() and said in fact.timeline_text())
    figures = figures_after(fact)
    assert figures[0] == f"{fact.account}, {fact.post_messages:,} after"
    assert f"{fact.pre_tokens:,} → {fact.post_tokens:,} tokens" in figures[1]
    rows = kept_rows(event, state)  # also of one that was undone since
    whole, quoted = under(KEPT_WHOLE, rows), under(QUOTED, rows)
    assert len(whole) == fact.kept_messages and sum(row.tokens for row in whole) == fact.kept_tokens
    assert sum(row.tokens for row in quoted) == fact.quoted_tokens


def under(heading: str, rows: list[KeptRow]) -> list[KeptRow]:
    """The rows below a heading."""
    start = next((n for n, row in enumerate(rows) if row.is_heading and row.text == heading), len(rows))
    end = next((n for n, row in enumerate(rows) if row.is_heading and n > start), len(rows))
    return rows[start + 1 : end]


async def check_now(session: Session, store: SqliteStore) -> None:
    """Right after a compaction: all that shows the context agrees with its event."""
    event, state, lens = session.state.compactions[-1], session.state, lens_of(session)
    fact = event.fact
    assert isinstance(fact, CompactionComplete) and state.usage is not None
    assert state.usage.current_tokens == fact.post_tokens == lens.reading.current_tokens
    assert len(state.history) == fact.post_messages == lens.total_json()["messages"] + state.not_sent
    group = next(each for each in out_of_context(state).groups if each.removal.seq == event.seq)
    assert group.messages == fact.originals and group.undoable == fact.summarised_now
    apart = sum(each.messages for each in out_of_context(state).groups if each.removal.reason != DOES_NOT_FIT)
    gone = [each for each in lens.left if each.is_gone and each.why not in (DOES_NOT_FIT, NEVER_SENT)]
    assert len(gone) == apart, "as many are removed as the chat sets apart"
    with store.reading() as reading:
        text = "".join(exported(reading.events(session.id), "markdown"))
    assert fact.outcome_sentence().partition("tokens, ")[2].partition(" summarised")[0] in text
    assert fact.post_messages == len(shown(store, session.id, history=True))
    assert len(state.transcript) == len(shown(store, session.id, history=False))
    said = await asked(session, store, context) + await asked(session, store, history)
    assert f"context       {fact.post_tokens:,} of " in said and f"messages      {fact.post_messages}  (" in said
    assert f"conversation  {fact.post_tokens - fact.fixed_tokens:,}\n" in said
    seen = sum(state.entry(entry.ref) is entry for entry in state.history if entry.seq != event.seq)
    assert f"The model sees {seen:,} of {counted(len(state.transcript), 'message')}." in said


def shown(store: SqliteStore, session_id: str, *, history: bool) -> list[str]:
    """The lines of `co-tui show --json`."""
    loaded = SimpleNamespace(settings=Settings())
    where: Any = SimpleNamespace(store=store, loaded=loaded, private=False)
    with redirect_stdout(StringIO()) as out:
        assert show(where, session_id, history=history, as_json=True) == 0
    return out.getvalue().splitlines()


async def asked(session: Session, store: SqliteStore, command: CommandFunction) -> str:
    """What a command answers."""
    answers: list[str] = []
    launch = SimpleNamespace(settings=session.settings, store=store)
    host: Any = SimpleNamespace(session=session, launch=launch, answer=answers.append)
    await command(host, "")
    return "".join(answers)


EDITED_THEN_UNDONE = [Turn("", 9, 3, 600, ends) for ends in ("", "", "compact", "edit", "undo", "undo")]
MUCH_PINNED = [Turn("", 40, 3, 600, ends) for ends in ("", "", "pin many", "", "compact")]


@given(TURNS)
@example(EDITED_THEN_UNDONE)
@example(MUCH_PINNED)
@settings(max_examples=drawn(1), phases=settings().phases if LONG_RUN else (Phase.explicit,))
async def test_every_figure_of_a_compaction_is_the_same_wherever_it_is_shown(turns: list[Turn]) -> None:
    async with talked(turns) as (session, _):
        for event in session.state.compactions:
            if event.fact.success and not event.fact.agent:
                check(event, session)


@asynccontextmanager
async def talked(turns: list[Turn]) -> AsyncIterator[tuple[Session, Model]]:
    """A session after these turns."""
    model = Model()
    with tempfile.TemporaryDirectory() as place:
        environment = environment_for(Path(place), model, tools=[read])
        session = await Session.start(environment, model.name)
        for turn in turns:
            model.begin(turn)
            assert await session.submit(turn.prompt) is Outcome.DONE
            await session.settle(30)
            await end(turn, session, environment.store)
        yield session, model
        await session.close()
        environment.store.close()


async def end(turn: Turn, session: Session, store: SqliteStore) -> None:
    state = session.state
    match turn.ends:
        case "pin":
            await session.edits.pin([state.history[-1].ref])
        case "pin many":
            await session.edits.pin([entry.ref for entry in state.history[:-2]])
        case "undo" if state.rewrites:
            await session.edits.undo()
        case "edit" if state.compactions and any(state.compactions[-1].seq == entry.seq for entry in state.history):
            await session.edits.edit_summary(state.compactions[-1].seq or 0, "It was about the module.")
        case "compact" | "deep":
            try:
                done = await session.compact(deep=turn.ends == "deep")
            except CompactionRefused:
                return
            if done.success:
                await check_now(session, store)


def test_parts_that_do_not_add_up_are_not_shown() -> None:
    fact = CompactionComplete(success=True, pre_tokens=90, post_tokens=40, kept_tokens=30, fixed_tokens=10)
    assert figures_after(fact)[1].startswith("90 → 40 tokens = 30 kept + ")
    assert figures_after(fact.but(fixed_tokens=11))[1] == "90 → 40 tokens"
