"""The policy in the help page works as it is written there."""

from pathlib import Path

from pydantic_ai.messages import ToolCallPart, ToolReturnPart

import co_tui.help
from co_tui.context.measure.count import Scaffold, Window
from co_tui.context.policy import policy_of
from co_tui.context.request.pipeline import Governor
from co_tui.paths import locate
from co_tui.settings import load
from tests.context.request.test_pipeline import asked, talk

PAGE = Path(co_tui.help.__file__).parent / "policies.md"


def example() -> str:
    _, _, after = PAGE.read_text(encoding="utf-8").partition("<!-- policy.py -->\n```python\n")
    return after.partition("```")[0]


def test_the_policy_in_the_help_keeps_drops_and_summarises_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(example())
    paths = locate({"CO_TUI_HOME": str(tmp_path / "home")})
    loaded = load(paths=paths, cwd=tmp_path, environ={}, command_line={"policy": "./mine.py"})
    assert loaded.problems == () and loaded.warnings == ()
    history = asked(talk(20, "word " * 300))
    for part in (part for message in history[9:11] for part in message.parts):
        assert isinstance(part, ToolCallPart | ToolReturnPart)
        part.tool_name = "list_files"

    def plan(window: int):  # type: ignore[no-untyped-def]
        governor = Governor(policy_of(loaded.settings), Window(tokens=window, known=True))
        found = governor.decide(governor.measure(history, Scaffold()))
        assert governor.policy_failure == ""
        return found

    assert plan(20_000) is None
    cut = plan(8_000).cut
    assert cut.replaced[0] >= 2 and 50 < len(cut.replaced) < 70 and cut.dropped == {9, 10}
