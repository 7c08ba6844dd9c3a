"""Conversations with branches: the history is the chosen path, and all that was said is in the transcript once."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from co_tui.exchange.importers import ImportedSession
from co_tui.exchange.intake.take_in import Outcome, take_in
from co_tui.session.state.derive import replay
from co_tui.session.state.history_edits import said as said_once
from co_tui.store.sqlite.in_memory import InMemoryStore
from tests.exchange.test_importers import history_texts, one
from tests.support.foreign import claude_row, codex_row, codex_said, write_lines
from tests.support.foreign_programs import copilot, kimi, kimi_said, node, words
from tests.support.long_run import drawn

DRAWN = settings(
    max_examples=drawn(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
SILENT = "silent"
"""A node of which nothing is imported."""
NO_PARENT = "00000000-0000-4000-8000-000000000000"


class Turn(NamedTuple):
    """A node of a drawn tree; its text is its id."""

    id: str
    parent: str | None
    kind: str


class Tree(NamedTuple):
    turns: list[Turn]
    leaf: str

    def path(self) -> list[str]:
        """The texts that lead to the leaf; where a chain begins is known only from its links."""
        turns = {turn.id: turn for turn in self.turns}
        chain: dict[str, None] = {}
        at: str | None = self.leaf
        while at in turns and at not in chain:
            chain[at] = None
            at = turns[at].parent
        if at in chain:  # a cycle begins with its first node in the file
            numbers = {turn.id: number for number, turn in enumerate(self.turns)}
            cycle = list(chain)[list(chain).index(at) :]
            first = min(cycle, key=lambda id: numbers[id])
            chain = dict.fromkeys(list(chain)[: list(chain).index(first) + 1])
        return [id for id in reversed(chain) if turns[id].kind != SILENT]

    @property
    def said(self) -> list[str]:
        return [turn.id for turn in self.turns if turn.kind != SILENT]


@st.composite
def trees(draw: st.DrawFn, *, damaged: bool = False) -> Tree:
    """Edited first prompts, replies asked for again, branches of branches, and branches that begin with silence; also
    cycles and missing parents if `damaged`."""
    count = draw(st.integers(2, 10))
    turns: list[Turn] = []
    for number in range(count):
        others = [f"n{each}" for each in range(count if damaged else number)]
        lost = [f"lost{draw(st.integers(0, 2))}"] if damaged else []
        # Claude Code's oldest files have no links at all, and are no trees.
        starts = [] if number == 1 and not damaged else [None]
        parent = draw(st.sampled_from([*starts, *others, *others[-2:], *lost])) if others else None
        kinds = ["user", SILENT] if parent is None else ["user", "assistant", SILENT]
        turns.append(Turn(f"n{number}", parent, draw(st.sampled_from(kinds)) if number else "user"))
    return Tree(turns, draw(st.sampled_from(turns)).id)


# Each program's shape


def claude_ai(tree: Tree) -> list[Any]:
    """The first prompts have a parent too, the same one that is no message."""
    start = NO_PARENT if tree.turns[0].parent is None else None
    messages = [
        {
            "uuid": turn.id,
            "sender": "assistant" if turn.kind == "assistant" else "human",
            "parent_message_uuid": turn.parent or start,
            "content": [{"type": "text", "text": turn.id}] if turn.kind != SILENT else [],
        }
        for turn in tree.turns
    ]
    return [{"uuid": "c", "name": "", "current_leaf_message_uuid": tree.leaf, "chat_messages": messages}]


def chatgpt(tree: Tree) -> list[Any]:
    nodes = {}
    for number, turn in enumerate(tree.turns):
        role = "system" if turn.kind == SILENT else turn.kind
        key, made = node(turn.id, turn.parent, role, words("" if turn.kind == SILENT else turn.id), number)
        nodes[key] = {**made, "message": None} if turn.kind == SILENT and turn.parent is None else made
    return [{"conversation_id": "c", "current_node": tree.leaf, "mapping": nodes}]


def claude_code(tree: Tree) -> list[Any]:
    rows = []
    for number, turn in enumerate(tree.turns):
        linked = {"uuid": turn.id, "parentUuid": turn.parent}
        if turn.kind == SILENT:
            rows.append({"type": "system", "subtype": "turn_duration", "sessionId": "s-1", **linked})
        else:
            rows.append(claude_row(turn.kind, [{"type": "text", "text": turn.id}], number, **linked))
    return rows


def pi(tree: Tree) -> list[Any]:
    rows: list[Any] = [{"type": "session", "id": "s", "cwd": "/w"}]
    for turn in tree.turns:
        message = {"role": turn.kind, "content": [{"type": "text", "text": turn.id}]}
        about = {"type": "model_change"} if turn.kind == SILENT else {"type": "message", "message": message}
        rows.append({**about, "id": turn.id, "parentId": turn.parent})
    if tree.leaf != tree.turns[-1].id:
        rows.append({"type": "leaf", "id": "leaf", "parentId": tree.turns[-1].id, "targetId": tree.leaf})
    return rows


def qwen_code(tree: Tree) -> list[Any]:
    rows = []
    for turn in tree.turns:
        linked = {"uuid": turn.id, "parentUuid": turn.parent, "sessionId": "s"}
        if turn.kind == SILENT:
            rows.append({"type": "system", "subtype": "ui_telemetry", **linked})
        else:
            rows.append({"type": turn.kind, "message": {"parts": [{"text": turn.id}]}, **linked})
    return rows


Shape = Callable[[Tree], list[Any]]
SHAPES: list[Shape] = [claude_ai, chatgpt, claude_code, pi, qwen_code]
WITH_LEAF: list[Shape] = [claude_ai, chatgpt, pi]
"""The other programs go on with what was written last."""


def as_written(shape: Shape, tree: Tree) -> Tree:
    """The tree with the leaf that the program's file has: what was said last, unless it names one that has a text."""
    last = Tree(tree.turns, tree.said[-1])
    return tree if shape in WITH_LEAF and tree.path() else last


def loaded(folder: Path, shape: Shape, tree: Tree) -> ImportedSession:
    return one(write_lines(folder / "session.jsonl", shape(tree)))


def said_in(session: ImportedSession) -> list[str]:
    return [str(getattr(part, "content", "")) for message in session.messages for part in message.parts]


# Trees


@pytest.mark.parametrize("shape", SHAPES)
@given(tree=trees())
@DRAWN
def test_the_history_is_the_chosen_path_and_all_else_was_said_once(tmp_path: Path, shape: Shape, tree: Tree) -> None:
    session = loaded(tmp_path, shape, tree)
    assert history_texts(replay(session.log)) == as_written(shape, tree).path()
    assert sorted(said_in(session)) == sorted(tree.said)


@pytest.mark.parametrize("shape", WITH_LEAF)
@given(tree=trees(damaged=True), data=st.data())
@DRAWN
def test_cycles_and_missing_parents_cost_no_message(
    tmp_path: Path, shape: Shape, tree: Tree, data: st.DataObject
) -> None:
    """What is known of the path to the leaf is the end of the history, in whichever order the file has its nodes."""
    session = loaded(tmp_path, shape, tree)
    assert sorted(said_in(session)) == sorted(tree.said)
    path = tree.path()
    assert history_texts(replay(session.log))[-len(path) :] == path or not path
    assert len(set(history_texts(replay(session.log)))) == len(replay(session.log).history)


@pytest.mark.parametrize("shape", [claude_ai, chatgpt])
@given(tree=trees(), data=st.data())
@DRAWN
def test_nodes_may_be_written_before_their_parents(
    tmp_path: Path, shape: Shape, tree: Tree, data: st.DataObject
) -> None:
    assume(tree.path())
    mixed = Tree(data.draw(st.permutations(tree.turns)), tree.leaf)
    session = loaded(tmp_path, shape, mixed)
    assert history_texts(replay(session.log)) == tree.path()
    assert sorted(said_in(session)) == sorted(tree.said)


@pytest.mark.parametrize("shape", SHAPES)
@given(tree=trees(), data=st.data())
@DRAWN
def test_a_tree_that_grows_in_steps_is_the_one_imported_at_once(
    tmp_path: Path, shape: Shape, tree: Tree, data: st.DataObject
) -> None:
    """Also where the leaf moves to another branch between the imports."""
    store = InMemoryStore()
    count = data.draw(st.integers(1, len(tree.turns)))
    early = Tree(tree.turns[:count], data.draw(st.sampled_from(tree.turns[:count])).id)
    taken = take_in(store, loaded(tmp_path, shape, early))
    assert taken.outcome is Outcome.NEW
    later = take_in(store, loaded(tmp_path, shape, tree))
    assert later.outcome in (Outcome.KNOWN, Outcome.CONTINUED)
    with store.reading() as reading:
        state = replay(list(reading.events(taken.session_id)))
    texts = [str(part.get("content")) for entry in said_once(state) for part in entry.message["parts"]]
    assert sorted(texts) == sorted(tree.said)
    if later.outcome is Outcome.CONTINUED:
        assert history_texts(state) == as_written(shape, tree).path()


def test_a_call_whose_result_comes_between_the_pieces_of_its_reply_stays(tmp_path: Path) -> None:
    """Claude Code writes a row for each piece, and each result names its own piece: what follows one follows all."""
    ids = {"message": {"id": "m"}}
    called = [{"type": "tool_use", "id": id, "name": "Read", "input": {}} for id in ("one", "two")]
    results = [[{"type": "tool_result", "tool_use_id": id, "content": f"of {id}"}] for id in ("one", "two")]
    rows = [
        claude_row("user", "go", 1, uuid="1", parentUuid=None),
        claude_row("assistant", called[:1], 2, uuid="2", parentUuid="1", **ids),
        claude_row("user", results[0], 3, uuid="3", parentUuid="2"),
        claude_row("assistant", called[1:], 4, uuid="4", parentUuid="2", **ids),
        claude_row("user", results[1], 5, uuid="5", parentUuid="4"),
        claude_row("assistant", "done", 6, uuid="6", parentUuid="3"),
    ]
    state = replay(one(write_lines(tmp_path / "s.jsonl", rows)).log)
    assert [text for text in history_texts(state) if text] == ["go", "of one", "of two", "done"]


def test_a_compaction_belongs_to_its_branch(tmp_path: Path) -> None:
    """Claude Code begins a new chain with it; a prompt before it that is edited has all that was said before."""
    rows = [
        claude_row("user", "one", 1, uuid="1", parentUuid=None),
        claude_row("assistant", "first", 2, uuid="2", parentUuid="1"),
        {"type": "system", "subtype": "compact_boundary", "uuid": "3", "parentUuid": None, "logicalParentUuid": "2"},
        claude_row("user", "In short.", 4, uuid="4", parentUuid="3", isCompactSummary=True),
        claude_row("user", "two", 5, uuid="5", parentUuid="4"),
    ]
    edited = claude_row("user", "two, but else", 6, uuid="6", parentUuid="2")
    compacted = replay(one(write_lines(tmp_path / "s.jsonl", rows)).log)
    assert history_texts(compacted) == ["In short.", "two"]
    assert history_texts(replay(one(write_lines(tmp_path / "s.jsonl", [*rows, edited])).log)) == [
        "one",
        "first",
        "two, but else",
    ]


def test_the_title_is_of_the_history(tmp_path: Path) -> None:
    rows = [
        claude_row("user", "wrong", 1, uuid="1", parentUuid=None),
        claude_row("assistant", "first", 2, uuid="2", parentUuid="1"),
        claude_row("user", "right", 3, uuid="3", parentUuid=None),
        claude_row("assistant", "second", 4, uuid="4", parentUuid="3"),
        claude_row("user", "more", 5, uuid="5", parentUuid="4"),
    ]
    session = one(write_lines(tmp_path / "s.jsonl", rows))
    assert history_texts(replay(session.log)) == ["right", "second", "more"]
    assert session.title == replay(session.log).title == "right"


def test_what_was_taken_back_whole_still_has_its_title(tmp_path: Path) -> None:
    back = codex_row("event_msg", type="thread_rolled_back", num_turns=1)
    session = one(
        write_lines(tmp_path / "s.jsonl", [codex_row("session_meta", id="t"), codex_said("user", "one"), back])
    )
    assert session.title == "one"


# Programs that write down what was taken back


class Step(NamedTuple):
    """A prompt, or going back to before the prompt of that number among those that count."""

    words: str
    back_to: int


def linear(steps: Sequence[Step]) -> list[str]:
    said: list[str] = []
    for step in steps:
        said = [*said, step.words] if step.words else said[: step.back_to]
    return said


@st.composite
def step_lists(draw: st.DrawFn) -> list[Step]:
    steps: list[Step] = []
    for number in range(draw(st.integers(1, 8))):
        count = len(linear(steps))
        goes_back = count and draw(st.booleans())
        steps.append(Step("", draw(st.integers(0, count - 1))) if goes_back else Step(f"n{number}", 0))
    return steps


def counting(steps: Sequence[Step]) -> list[list[tuple[int, str]]]:
    """The prompts that count before each step, with their numbers."""
    before: list[list[tuple[int, str]]] = [[]]
    for number, step in enumerate(steps):
        last = before[-1]
        before.append([*last, (number, step.words)] if step.words else last[: step.back_to])
    return before


def codex(steps: Sequence[Step]) -> list[Any]:
    rows = [codex_row("session_meta", id="t")]
    for step, before in zip(steps, counting(steps), strict=False):
        turns = len(before) - step.back_to
        back = codex_row("event_msg", type="thread_rolled_back", num_turns=turns)
        rows += [codex_said("user", step.words) if step.words else back]
    return rows


def copilot_cli(steps: Sequence[Step]) -> list[Any]:
    rows = [copilot("session.start", 99, {"sessionId": "s"})]
    for number, (step, before) in enumerate(zip(steps, counting(steps), strict=False)):
        if step.words:
            rows.append(copilot("user.message", number, {"content": step.words}))
        else:
            rows.append(copilot("session.snapshot_rewind", number, {"upToEventId": f"e{before[step.back_to][0]}"}))
    return rows


def gemini_cli(steps: Sequence[Step]) -> list[Any]:
    rows: list[Any] = [{"sessionId": "s", "projectHash": "p"}]
    for number, (step, before) in enumerate(zip(steps, counting(steps), strict=False)):
        if step.words:
            rows.append({"id": str(number), "type": "user", "content": step.words})
        else:
            rows.append({"$rewindTo": str(before[step.back_to][0])})
    return rows


def kimi_cli(steps: Sequence[Step]) -> list[Any]:
    rows: list[Any] = [{"type": "metadata", "protocol_version": "1.4", "created_at": 1740823200000}]
    for number, (step, before) in enumerate(zip(steps, counting(steps), strict=False)):
        undo = kimi("context.undo", number, count=len(before) - step.back_to)
        rows.append(kimi_said(step.words, number) if step.words else undo)
    return rows


@pytest.mark.parametrize("rows", [codex, copilot_cli, gemini_cli, kimi_cli])
@given(steps=step_lists())
@DRAWN
def test_what_was_taken_back_is_said_and_no_longer_counts(
    tmp_path: Path, rows: Callable[[Sequence[Step]], list[Any]], steps: list[Step]
) -> None:
    session = one(write_lines(tmp_path / "session.jsonl", rows(steps)))
    assert history_texts(replay(session.log)) == linear(steps)
    assert said_in(session) == [step.words for step in steps if step.words]


@pytest.mark.parametrize(("part", "left"), [(None, ["go"]), ("p3", ["go", "On it."])])
def test_what_opencode_undid_is_said_and_no_longer_counts(tmp_path: Path, part: str | None, left: list[str]) -> None:
    """It keeps an undone turn until the next prompt, and may cut within a reply."""

    def message(id: str, role: str, *texts: tuple[str, str]) -> dict[str, Any]:
        parts = [{"id": key, "type": "text", "text": said} for key, said in texts]
        return {"info": {"id": id, "role": role}, "parts": parts}

    info = {"id": "s", "projectID": "p", "directory": "/w", "time": {}, "revert": {"messageID": "m2", "partID": part}}
    messages = [
        message("m1", "user", ("p1", "go")),
        message("m2", "assistant", ("p2", "On it."), ("p3", "Undone.")),
        message("m3", "user", ("p4", "Also undone.")),
    ]
    session = one(write_lines(tmp_path / "session.json", [{"info": info, "messages": messages}]))
    assert history_texts(replay(session.log)) == left
    assert said_in(session) == ["go", "On it.", "Undone.", "Also undone."] and not session.left_out
