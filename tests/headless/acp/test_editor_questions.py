"""Questions about calls as an editor shows them, and where their commands run."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from acp.core import RequestError
from pydantic_ai.workspaces import LocalWorkspaceBackend, WorkspaceError

from co_tui.agent.mcp.elicitation import Field, Form
from co_tui.agent.permissions.verdict import VERDICT, Verdict
from co_tui.headless.acp.editor_folder import EditorFolder
from co_tui.headless.acp.editor_questions import EditorQuestions
from co_tui.session.approvals.questions import ApprovalQuestion
from co_tui.session.tools.running_commands import CURRENT_CALL, ENDS_WITH_CALL


class Editor:
    """Keeps what it is asked, and cancels."""

    has_forms = False

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def ask_permission(self, session_id: str, call: Any, options: Any) -> Any:
        self.asked.append(call)
        return SimpleNamespace(outcome=None)


async def test_a_question_names_every_danger_and_every_file(tmp_path: Path) -> None:
    editor: Any = Editor()
    questions = EditorQuestions(editor, tmp_path)
    line, dangers = "rm -rf build && git push", "deletes files and publishes or sends to others"
    command = ApprovalQuestion(tool="run_command", arguments={"command": line}, what=line, danger=dangers)
    files = {"files": [{"path": "src/a.py", "content": "x"}, {"path": "b.py", "content": "x"}]}
    assert not (await questions.approve(command)).approved
    await questions.approve(ApprovalQuestion(tool="edit_files", arguments=files, what=""))
    ran, changed = editor.asked
    assert f"Careful: {dangers}" in ran.content[0].content.text
    assert changed.title == "edit src/a.py, b.py"


DIFF = "--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-one\n+two"


async def test_a_question_about_an_edit_says_why_it_is_asked(tmp_path: Path) -> None:
    editor: Any = Editor()
    question = ApprovalQuestion(
        tool="edit_file",
        arguments={"path": "b.py", "old_text": "one", "new_text": "two"},
        what=DIFF,
        reason="Asked because of a PreToolUse hook: it is a lock file",
        note="The file has changed.",
        danger="makes programs run",
    )
    await EditorQuestions(editor, tmp_path).approve(question)
    why, change = editor.asked[0].content
    assert why.content.text.splitlines() == [
        "Asked because of a PreToolUse hook: it is a lock file",
        "The file has changed.",
        "Careful: makes programs run",
    ]
    assert (change.old_text, change.new_text) == ("one", "two")


async def test_without_forms_a_question_names_the_server_that_asks(tmp_path: Path) -> None:
    editor: Any = Editor()
    form = Form("weather", "Which town?", (Field("town", "choice", "Town", options=(("a", "A"), ("b", "B"))),))
    await EditorQuestions(editor, tmp_path).fill_in(form)
    (asked,) = editor.asked
    assert asked.title.startswith("MCP server weather: Which town?")
    assert asked.content[0].content.text == asked.title


class Terminals:
    """An editor that counts the terminals it is asked for, and has none to give."""

    has_terminals = True
    created = 0

    async def create_terminal(self, asked: Any) -> str:
        self.created += 1
        raise RequestError(-32603, "none left")


@pytest.mark.parametrize(
    ("is_sandboxed", "verdict", "in_terminal"),
    [
        (False, Verdict("run"), True),
        (True, Verdict("run"), False),
        (True, Verdict("run", outside_sandbox=True), True),
        (False, Verdict("run", only_reads=True), False),
    ],
)
async def test_what_a_sandbox_must_hold_or_only_reads_never_runs_in_an_editors_terminal(
    tmp_path: Path, is_sandboxed: bool, verdict: Verdict, in_terminal: bool
) -> None:
    editor: Any = Terminals()
    folder = EditorFolder(LocalWorkspaceBackend(tmp_path), editor, lambda: "s", lambda: is_sandboxed)
    tokens = (VERDICT.set(verdict), CURRENT_CALL.set("call-1"), ENDS_WITH_CALL.set(True))
    try:
        with pytest.raises(WorkspaceError) if in_terminal else nullcontext():
            assert (await folder.run("echo here", shell=True)).stdout == "here\n"
    finally:
        for variable, token in zip((VERDICT, CURRENT_CALL, ENDS_WITH_CALL), tokens, strict=True):
            variable.reset(token)  # type: ignore[arg-type]
    assert bool(editor.created) is in_terminal
