"""Questions about calls as an editor shows them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from co_tui.headless.acp.editor_questions import EditorQuestions
from co_tui.session.approvals.questions import ApprovalQuestion


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
