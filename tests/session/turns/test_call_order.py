"""The calls of one reply take effect in the order given, as if made one by one, whatever is asked in between."""

import asyncio
import json
import random
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from pydantic_ai.models.function import DeltaToolCall
from pydantic_ai.toolsets import FunctionToolset

from co_tui.agent.models.open_model import config_for, open_model
from co_tui.events import ApprovalDecided, Message
from co_tui.paths import locate
from co_tui.session.approvals.questions import Approval, ApprovalQuestion
from co_tui.session.session import Session
from co_tui.session.turns.turn import Outcome
from co_tui.settings import Settings
from co_tui.settings.permission_rules import Rule, RuleInForce
from tests.support.approving import YES, Person, Tools, environment_with, left, log_of, returns
from tests.support.environments import ScriptedModel, environment_for, facts
from tests.support.kept_folders import content_of
from tests.support.long_run import LONG_RUN, also_in_a_long_run, drawn
from tests.support.provider import Provider, Reply
from tests.support.waiting import until
from tests.support.wires import WIRES, Wire
from tests.support.working import Working, working_in

NO = Approval(approved=False, by="user", reason="not now")
Answer = Literal["yes", "no", "quit", "kill"]
Call = tuple[str, dict[str, Any]]
PATHS = ("a.txt", "new/b.txt")
LINES = ("mkdir -p new", "cat a.txt new/b.txt", "printf three >> a.txt", "rm -r new")


def write(path: str, text: str) -> Call:
    return "write_file", {"path": path, "content": f"{text}\n"}


def edit(path: str, old: str, new: str) -> Call:
    return "edit_file", {"path": path, "old_text": old, "new_text": new}


def read(path: str) -> Call:
    return "read_file", {"path": path}


def run(line: str) -> Call:
    return "run_command", {"command": line}


WORDS = st.sampled_from(("one", "two", "three"))
CALLS: st.SearchStrategy[Call] = st.one_of(
    st.builds(write, st.sampled_from(PATHS), WORDS),
    st.builds(edit, st.sampled_from(PATHS), WORDS, WORDS),
    st.builds(read, st.sampled_from(PATHS)),
    st.builds(run, st.sampled_from(LINES)),
)
REPLIES = st.lists(st.tuples(CALLS, st.sampled_from(("yes", "yes", "no", "quit", "kill"))), min_size=2, max_size=8)


class OnWire:
    """Makes the calls of one reply over a provider's wire."""

    def __init__(self, wire: Wire, provider: Provider, reply: Sequence[Call]) -> None:
        self.wire, self._config = wire, provider
        made = [(f"{tool}-{n}", tool, json.dumps(arguments)) for n, (tool, arguments) in enumerate(reply)]
        provider.script = [Reply(raw=(wire.write("Working.", made),)), Reply(raw=(wire.write("Done.", ()),))]
        provider.window = 100_000
        environ = wire.environ(provider)
        self._config = config_for(Settings(), environ, locate({"CO_TUI_HOME": "nowhere"}))

    def open(self, name: str) -> Any:
        return open_model(name, self._config)


class Answering(Person):
    """Answers by call; leaves the question open at one that is to be answered later."""

    def __init__(self, answers: dict[int, Answer]) -> None:
        super().__init__()
        self._left = dict(answers)
        self.leaves: Answer | None = None

    async def approve(self, question: ApprovalQuestion) -> Approval:
        self.asked.append(question)
        number = number_of(question.call_id)
        answer = self._left[number]
        if answer in ("quit", "kill"):
            self.leaves, self._left[number] = answer, "yes"
            await asyncio.Event().wait()
        return YES if answer == "yes" else NO


def number_of(call_id: str) -> int:
    """Which call of the work it is; `Working` puts the number of the reply before it."""
    _, *reply, call = call_id.split("-")
    return int(call) + (int(reply[0]) - 1 if reply else 0)


Made = tuple[dict[str, Any], list[tuple[str, str, str]]]
"""The files, and the results with their tools and outcomes."""


async def worked(place: Path, model: ScriptedModel | OnWire, answers: dict[int, Answer]) -> Made:
    """What comes of the calls that a model makes, however often the session is left at a question."""
    folder = place / "project"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("one\n")
    person = Answering(answers)
    scripted = model if isinstance(model, ScriptedModel) else Working()
    environment = working_in(folder, place / "home", scripted, person, command_sandbox="off")
    if isinstance(model, OnWire):
        environment.open_model = model.open
    session = await Session.start(environment, model.wire.model if isinstance(model, OnWire) else "scripted")
    turn = asyncio.create_task(session.submit("go"))
    while True:
        await until(lambda turn=turn: turn.done() or person.leaves)
        if turn.done():
            break
        left_by, person.leaves = person.leaves, None
        # A process killed at this moment leaves the log as it is; one that is quit may write more.
        next_id = await session.fork() if left_by == "kill" else session.id
        await session.close()
        await turn
        session = await Session.resume(environment, next_id)
        turn = asyncio.create_task(session.ask_pending())
    assert turn.result() is Outcome.DONE, session.state.timeline[-1]
    results = [
        (id.partition("-")[0], re.sub(r"\n\[took [^\]]*\]", "", str(content)), how)
        for id, content, how in sorted(returns(session), key=lambda each: number_of(each[0]))  # reads end in any order
    ]
    await left(environment, session)
    return content_of(folder), results


@given(reply=REPLIES)
@example(reply=[(edit("a.txt", "one", "two"), "yes"), (read("a.txt"), "yes")])
@example(
    reply=[(write("new/b.txt", "one"), "kill"), (edit("new/b.txt", "one", "two"), "quit"), (read("new/b.txt"), "yes")]
)
@example(reply=[(run("mkdir -p new"), "no"), (run("cat a.txt new/b.txt"), "yes"), (read("a.txt"), "yes")])
@settings(max_examples=drawn(1), phases=settings().phases if LONG_RUN else (Phase.explicit,))
async def test_one_reply_does_what_its_calls_do_one_by_one(reply: list[tuple[Call, Answer]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        made = [call for call, _ in reply]
        await check(Path(place), reply, Working(made))


async def check(place: Path, reply: Sequence[tuple[Call, Answer]], together: ScriptedModel | OnWire) -> None:
    """Compare with the same calls made in replies of their own, answered at once."""
    made, answers = [call for call, _ in reply], dict(enumerate(answer for _, answer in reply))
    at_once: dict[int, Answer] = {n: "no" if answer == "no" else "yes" for n, answer in answers.items()}
    expected = await worked(place / "one by one", Working(*made), at_once)
    assert await worked(place / "together", together, answers) == expected


@pytest.mark.parametrize("wire", also_in_a_long_run(["anthropic"], [wire for wire in WIRES if wire != "anthropic"]))
async def test_on_every_wire(tmp_path: Path, provider: Provider, wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in WIRES[wire].environ(provider).items():
        monkeypatch.setenv(name, value)
    for number, reply in enumerate(drawn_replies(drawn(1))):
        await check(tmp_path / str(number), reply, OnWire(WIRES[wire], provider, [call for call, _ in reply]))


def drawn_replies(number: int) -> list[list[tuple[Call, Answer]]]:
    """The same each time; in a long run there are more."""
    chance = random.Random(number)
    words, paths = ("one", "two", "three"), PATHS
    kinds: list[Callable[[], Call]] = [
        lambda: write(chance.choice(paths), chance.choice(words)),
        lambda: edit(chance.choice(paths), chance.choice(words), chance.choice(words)),
        lambda: read(chance.choice(paths)),
        lambda: run(chance.choice(LINES)),
    ]
    answers: tuple[Answer, ...] = ("yes", "yes", "no", "quit", "kill")
    return [
        [(chance.choice(kinds)(), chance.choice(answers)) for _ in range(chance.randint(2, 8))] for _ in range(number)
    ]


async def test_the_second_diff_is_against_the_first_ones_result(folder: Path, home: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    person = Person(YES, YES)
    model = Working([edit("a.txt", "one", "two"), edit("a.txt", "two", "three"), read("a.txt")])
    environment = working_in(folder, home, model, person)
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    assert [(each.number, each.of) for each in person.asked] == [(1, 2), (2, 2)]
    assert "-one" in person.asked[0].what and "-two" in person.asked[1].what and "one" not in person.asked[1].what
    assert "three" in model.returned[-1]
    await left(environment, session)


REST = YES.but(rest=True)


async def test_the_rest_of_a_batch_is_allowed_with_one_answer_but_not_what_destroys_or_makes_programs_run(
    folder: Path, home: Path
) -> None:
    person = Person(REST, NO, NO, YES)
    later = write("c.txt", "later")
    model = Working(
        [
            write("a.txt", "one"),
            run("touch b.txt"),
            run("rm -r src"),
            write(".vscode/tasks.json", "x"),
            write("b.txt", "two"),
        ],
        later,
    )
    environment = working_in(folder, home, model, person, command_sandbox="off")
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    listed = [(each.tool, each.arguments) for each in person.asked[0].rest]
    assert listed == [run("touch b.txt"), write("b.txt", "two")], "what is allowed is what was listed"
    asked = [(each.arguments.get("command") or each.arguments["path"], each.number, each.of) for each in person.asked]
    assert asked == [
        ("a.txt", 1, 5),
        ("rm -r src", 2, 3),
        (".vscode/tasks.json", 3, 3),
        ("c.txt", 1, 1),
    ], "the next reply asks again"
    assert (folder / "b.txt").read_text() == "two\n" and (folder / "c.txt").exists()
    assert not (folder / ".vscode" / "tasks.json").exists()
    decided = [(fact.approved, fact.by, fact.scope) for fact in facts(log_of(environment, session), ApprovalDecided)]
    assert decided == [(True, "user", "once")] * 2 + [(False, "user", "once")] * 2 + [(True, "user", "once")] * 2
    await left(environment, session)


async def test_what_a_hook_or_a_rule_asks_about_is_not_in_the_rest(folder: Path, home: Path) -> None:
    person = Person(REST, YES)
    model = Working([write("a.txt", "one"), run("touch b.txt")])
    rules = (RuleInForce("ask", Rule("Bash", "touch:*"), "the settings"),)
    environment = working_in(folder, home, model, person, command_sandbox="off", permissions=rules)
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    assert person.asked[0].rest == () and len(person.asked) == 2
    await left(environment, session)


async def test_a_refusal_is_no_question(folder: Path, home: Path) -> None:
    person = Person(YES)
    environment = working_in(folder, home, Working([run("touch a"), write("b", "b")]), person)
    environment.settings = environment.settings.but(
        permissions=(RuleInForce("deny", Rule("Bash", "touch:*"), "config.toml"),)
    )
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    assert [(each.tool, each.number, each.of) for each in person.asked] == [("write_file", 1, 1)]
    await left(environment, session)


async def test_what_is_behind_a_question_has_not_begun(folder: Path, home: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    person = Person()
    model = Working([read("a.txt"), run("touch first"), run("touch second"), ("search_files", {"pattern": "one"})])
    environment = working_in(folder, home, model, person)
    session = await Session.start(environment, "scripted")
    turn = asyncio.create_task(session.submit("go"))
    await until(lambda: person.asked)
    assert [each.call_id for each in session.state.pending] == ["run_command-1-1"]
    logged = [
        part["tool_call_id"]
        for fact in facts(log_of(environment, session), Message)
        for part in fact.message["parts"]
        if part["part_kind"] == "tool-return"
    ]
    assert logged == ["read_file-1-0"], "what ran before a question is logged before it is asked"
    session.interrupt()
    assert await turn is Outcome.INTERRUPTED
    assert not (folder / "first").exists() and not (folder / "second").exists()
    assert [outcome for _, _, outcome in returns(session)] == ["success", "interrupted", "interrupted", "interrupted"]
    await left(environment, session)


async def test_reads_run_together(home: Path) -> None:
    met = asyncio.Event()
    begun: list[str] = []

    async def read_file(path: str) -> str:
        begun.append(path)
        if len(begun) == 2:
            met.set()
        await met.wait()  # each ends only if both have begun
        return path

    environment = environment_with(home, Working([read("a"), read("b")]), Tools(), Person())
    environment.toolsets = [FunctionToolset([read_file])]
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.DONE
    await left(environment, session)


@pytest.mark.parametrize("rounds", also_in_a_long_run([2, 5, 7], [3, 4, 6]))
async def test_a_result_that_came_just_before_the_stop_is_kept(home: Path, rounds: int) -> None:
    """The stop comes some rounds of the loop after the tool ended."""

    def stop_after(left: int) -> None:
        if left:
            asyncio.get_running_loop().call_soon(stop_after, left - 1)
        else:
            session.interrupt()

    async def dig() -> str:
        stop_after(rounds)
        return "dug"

    async def script(messages: Any, info: Any) -> Any:
        if len(messages) == 1:
            yield {0: DeltaToolCall("dig", "{}", tool_call_id="c")}
        else:
            await asyncio.Event().wait()

    environment = environment_for(home, ScriptedModel(script), tools=[dig])
    session = await Session.start(environment, "scripted")
    assert await session.submit("go") is Outcome.INTERRUPTED
    assert [(content, outcome) for _, content, outcome in returns(session)] == [("dug", "success")]
    await session.close()
    environment.store.close()
