"""Several files in one step or none, stale files with what changed, and arguments that are not quite JSON."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.workspaces import LocalWorkspaceBackend

from co_tui.agent.wire.repaired_arguments import with_repaired_arguments
from co_tui.events.file_diff import diff_in, read_diff
from co_tui.session.approvals.questions import Approval
from co_tui.session.session import Session
from co_tui.session.tools.folder.seen_files import MOST_FILES, SeenFiles
from co_tui.session.turns.current_agent import CURRENT_AGENT
from tests.support.approving import YES, Person
from tests.support.long_run import also_in_a_long_run
from tests.support.working import Working, repository, working_in

NO = Approval(approved=False, by="user")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = repository(tmp_path / "repo")
    (place / "lib").mkdir()
    (place / "lib/a.py").write_text("a = 1\nb = 2\n")
    return place


def edits(*files: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return "edit_files", {"files": list(files)}


def replaced(path: str, *pairs: tuple[str, str]) -> dict[str, Any]:
    return {"path": path, "replacements": [{"old_text": old, "new_text": new} for old, new in pairs]}


def whole(path: str, content: str) -> dict[str, Any]:
    return {"path": path, "content": content}


GOOD = edits(replaced("lib/a.py", ("a = 1", "a = 10"), ("b = 2", "b = 20")), whole("new/dir/c.py", "c = 3\n"))


class Talk:
    """A session with a script and a person."""

    def __init__(self, folder: Path, home: Path, person: Person, *steps: Any, **settings: Any) -> None:
        self.model, self.person, self.folder = Working(*steps), person, folder
        self.environment = working_in(folder, home, self.model, person, **settings)

    async def __aenter__(self) -> "Talk":
        self.session = await Session.start(self.environment, "scripted")
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.session.close()
        self.environment.store.close()

    async def say(self, *steps: Any) -> list[str]:
        self.model.steps += steps
        await self.session.submit("work")
        return self.model.returned

    @property
    def diffs(self) -> list[str]:
        parts = [part for entry in self.session.state.history for part in entry.message["parts"]]
        return [found for part in parts if (found := diff_in(part))]


async def test_several_files_are_changed_in_one_step_after_one_question(folder: Path, tmp_path: Path) -> None:
    async with Talk(folder, tmp_path / "home", Person(YES), GOOD) as talk:
        (got,) = await talk.say()
        (stored,) = talk.diffs
    assert got == "Changed 2 files: lib/a.py, new/dir/c.py."
    assert (folder / "lib/a.py").read_text() == "a = 10\nb = 20\n"
    assert (folder / "new/dir/c.py").read_text() == "c = 3\n"
    (asked,) = talk.person.asked
    assert asked.new == ("lib/a.py", "new/dir/c.py")
    assert asked.rules == ("Edit(lib/**)", "Edit(new/dir/**)")
    for text in (asked.what, stored):
        diff = read_diff(text)
        assert diff is not None and (diff.path, diff.added, diff.removed) == ("lib/a.py", 3, 2)
        assert [row.text for row in diff.rows if row.sign == "file"] == ["lib/a.py", "new/dir/c.py"]


@pytest.mark.parametrize(
    ("bad", "why"),
    also_in_a_long_run(
        [
            (replaced("check.py", ("login", "x")), "check.py: old_text found 3 times"),
            (whole("../out.py", "x"), "outside the project root"),
            ({"path": "lib/a.py"}, "lib/a.py: give either replacements or content"),
            (whole("login.py/x", "x"), "login.py/x: "),
        ],
        [
            (replaced("lib/a.py", ("nowhere", "x")), "lib/a.py: old_text not found"),
            (replaced("none.py", ("a", "b")), "none.py: File not found"),
            ({"path": "lib/a.py", "content": "x", "replacements": [{"old_text": "a", "new_text": "b"}]}, "give either"),
        ],
    ),
)
async def test_if_one_change_is_not_possible_none_is_made_or_asked_about(
    folder: Path, tmp_path: Path, bad: dict[str, Any], why: str
) -> None:
    async with Talk(folder, tmp_path / "home", Person(), edits(whole("new.py", "x"), bad), mode="edits") as talk:
        (got,) = await talk.say()
    assert why in got
    assert not (folder / "new.py").exists() and (folder / "lib/a.py").read_text() == "a = 1\nb = 2\n"


NEAR = "The nearest line is 2:\n2: b = 2"
SPACED = "Line 2 differs from it only in white space:\n2: b = 2"


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (("edit_file", {"path": "lib/a.py", "old_text": "b = 3", "new_text": "x"}), NEAR),
        (("edit_file", {"path": "lib/a.py", "old_text": "b =  2", "new_text": "x"}), SPACED),
        (edits(replaced("lib/a.py", ("a = 1", "a = 7"), ("b = 5", "x"))), NEAR),
        (edits(whole("new.py", "x"), replaced("lib/a.py", ("\tb = 2", "x"))), SPACED),
    ],
)
async def test_for_a_text_that_is_not_found_the_nearest_lines_are_shown(
    folder: Path, tmp_path: Path, step: Any, said: str
) -> None:
    async with Talk(folder, tmp_path / "home", Person(), step, mode="edits") as talk:
        (got,) = await talk.say()
    assert "not found in lib/a.py. No changes were written. " in got and said in got
    assert (folder / "lib/a.py").read_text() == "a = 1\nb = 2\n" and not (folder / "new.py").exists()


async def test_the_nearest_lines_of_a_later_replacement_are_those_after_the_earlier(
    folder: Path, tmp_path: Path
) -> None:
    pairs = [{"old_text": "a = 1", "new_text": "first = 1"}, {"old_text": "first = 2", "new_text": "x"}]
    edit = ("edit_file", {"path": "lib/a.py", "replacements": pairs})
    async with Talk(folder, tmp_path / "home", Person(), edit, mode="edits") as talk:
        (got,) = await talk.say()
    assert "replacement 2 not found" in got and "The nearest line is 1:\n1: first = 1" in got


async def test_a_file_that_cannot_be_written_undoes_the_others(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    real = LocalWorkspaceBackend.write_bytes

    async def full(self: Any, path: str, data: bytes) -> None:
        if path.endswith("c.py"):
            raise OSError(28, "No space left on device")
        await real(self, path, data)

    monkeypatch.setattr(LocalWorkspaceBackend, "write_bytes", full)
    async with Talk(folder, tmp_path / "home", Person(), GOOD, mode="edits") as talk:
        (got,) = await talk.say()
    assert "None of the files was changed." in got
    assert (folder / "lib/a.py").read_text() == "a = 1\nb = 2\n"
    assert not (folder / "new/dir/c.py").exists()


async def test_one_denied_or_protected_file_decides_for_all(folder: Path, tmp_path: Path) -> None:
    async with Talk(folder, tmp_path / "home", Person(NO), edits(whole("x.py", "x"), whole(".mcp.json", "{}"))) as talk:
        await talk.say()
    (asked,) = talk.person.asked
    assert asked.rules == () and ".mcp.json can make programs run" in asked.reason
    assert not (folder / "x.py").exists()


async def test_a_file_changed_by_someone_else_is_refused_with_what_changed(folder: Path, tmp_path: Path) -> None:
    edit = ("edit_file", {"path": "lib/a.py", "old_text": "b = 2", "new_text": "b = 3"})
    async with Talk(folder, tmp_path / "home", Person(YES, YES)) as talk:
        await talk.say(("read_file", {"path": "lib/a.py"}))
        (folder / "lib/a.py").write_text("a = 7\nb = 2\n")
        refused = (await talk.say(edit))[-1]
        assert refused.startswith(
            "lib/a.py changed since you last saw it. No changes were written. What changed:\n--- "
        )
        assert "-a = 1\n+a = 7" in refused and talk.person.asked == []
        assert (folder / "lib/a.py").read_text() == "a = 7\nb = 2\n"
        await talk.say(edit)
        assert (folder / "lib/a.py").read_text() == "a = 7\nb = 3\n", "it knows now"
        (folder / "lib/a.py").write_text("other\n")
        assert "changed since" in (await talk.say(("write_file", {"path": "lib/a.py", "content": "x"})))[-1]
        assert (folder / "lib/a.py").read_text() == "other\n"


async def test_the_models_own_changes_and_unread_files_are_not_stale(folder: Path, tmp_path: Path) -> None:
    edit = ("edit_file", {"path": "lib/a.py", "old_text": "a = 1", "new_text": "a = 2"})
    back = ("edit_file", {"path": "lib/a.py", "old_text": "a = 2", "new_text": "a = 3"})
    async with Talk(folder, tmp_path / "home", Person(), mode="edits") as talk:
        await talk.say(
            edit,
            back,
            edits(replaced("lib/a.py", ("a = 3", "a = 4"))),
            ("write_file", {"path": "login.py", "content": "x"}),
        )
    assert (folder / "lib/a.py").read_text() == "a = 4\nb = 2\n"
    assert (folder / "login.py").read_text() == "x"


def test_few_files_are_remembered() -> None:
    seen = SeenFiles()
    for n in range(MOST_FILES + 5):
        seen.note(f"/{n}", b"x" * n)
    seen.check("/0", "0", b"other")  # forgotten
    with pytest.raises(Exception, match="9 changed since you last saw it"):
        seen.check("/9", "9", b"other")
    seen.check("/9", "9", b"other")  # said once
    seen.note("/mine", b"as the main agent saw it")
    token = CURRENT_AGENT.set("self 1")
    seen.check("/mine", "mine", b"other")  # a delegate has not seen it
    seen.note("/theirs", b"as it saw it")
    with pytest.raises(ModelRetry, match="theirs changed"):
        seen.check("/theirs", "theirs", b"other")
    CURRENT_AGENT.reset(token)
    seen.check("/theirs", "theirs", b"another")
    seen.note("/big", b"y" * 300_000)
    with pytest.raises(Exception, match="Read it again first"):
        seen.check("/big", "big", b"z" * 300_000)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('{"path": "a.py",}', {"path": "a.py"}),
        ("{'path': 'it\\'s \"a\".py', \"b\": ['x', ],}", {"path": 'it\'s "a".py', "b": ["x"]}),
        ('{"content": "one\ntwo\\n  "}', {"content": "one\ntwo\n  "}),
        ('{"content": "last line\\n",}', {"content": "last line\n"}),
        ('{path: "a.py", "all": True, "n": -1.5, "no": None}', {"path": "a.py", "all": True, "n": -1.5, "no": None}),
        ('```json\n{"a": 1,}\n```', {"a": 1}),
        ("{'tab': 'a\\tb\\\\'}", {"tab": "a\tb\\"}),
    ],
)
def test_arguments_that_are_not_quite_json_are_repaired(text: str, meant: dict[str, Any]) -> None:
    (call,) = with_repaired_arguments(ModelResponse(parts=[ToolCallPart("t", text)])).parts
    assert isinstance(call, ToolCallPart) and json.loads(call.args_as_json_str()) == meant


@pytest.mark.parametrize(
    "text",
    ['{"path": "a.py", "content": "half of', '{"path": ', "", "[1, 2,]", "no JSON", '{"a": 1}', "[" * 9_999,
     '{"content": "say "hi" now"}', '{"a": 1,, "b": 2}', '{"a" 1}', "{'a': 'b'} {'c': 'd'}", "{,}", "{" * 9_999],
)  # fmt: skip
def test_other_arguments_stay_as_they_are(text: str) -> None:
    response = ModelResponse(parts=[TextPart("x"), ToolCallPart("t", text), ToolCallPart("u", {"a": 1})])
    assert with_repaired_arguments(response) is response


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.booleans() | st.lists(st.text()), min_size=1))
def test_a_repair_keeps_every_text(values: dict[str, Any]) -> None:
    for text in (
        repr(values),
        json.dumps(values)[:-1] + ",}",
        json.dumps(values, ensure_ascii=False).replace("\\n", "\n"),
    ):
        (call,) = with_repaired_arguments(ModelResponse(parts=[ToolCallPart("t", text)])).parts
        assert isinstance(call, ToolCallPart)
        found = call.args_as_dict()
        assert found == values or "INVALID_JSON" in found


def test_a_call_that_was_cut_is_not_repaired() -> None:
    cut = ModelResponse(parts=[ToolCallPart("t", "{'content': 'if x: {}")], finish_reason="length")
    assert with_repaired_arguments(cut) is cut
