"""The first line: what is talked about, who answers, and what governs the context."""

from typing import NamedTuple

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.widgets import Static

from co_tui.agent.catalogue import EMBEDDED, EMBEDDED_LABEL, short_name
from co_tui.inert import one_line

EMBEDDED_WORDS = (
    f"Embedded model {EMBEDDED_LABEL} (offline, small, only talks). F6 chooses another.",
    f"Embedded model {EMBEDDED_LABEL} (offline). F6 chooses another.",
)
"""How to choose another is told at every width."""
MISSING_WORDS = (
    f"No model here yet: /fetch brings {EMBEDDED_LABEL}, which works offline. F6 chooses another.",
    "No model here yet: /fetch brings one. F6 chooses another.",
)
"""The same while the embedded model would answer, and is not on this machine."""


class TitleFacts(NamedTuple):
    """What the line tells."""

    session: str = ""
    model: str = ""
    policy: str = ""
    branch: str = ""
    effort: str = ""
    """How much the model is asked to think; empty for one that cannot be asked."""
    sandboxed: bool = False
    """Whether its commands are."""
    questions: int = 0
    """How many of its calls wait to be allowed."""
    private: bool = False
    """Whether nothing of it is kept."""
    missing: bool = False
    """Whether the embedded model is not on this machine."""


class TitleLine(Static):
    """Whole at any width; under the embedded model a second line says how to choose another."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)

    def show(self, facts: TitleFacts, muted: Style) -> None:
        room = max(0, self.app.size.width - 2)
        line = _line(facts, room)
        if facts.model == EMBEDDED:
            line.append("\n")
            told = MISSING_WORDS if facts.missing else EMBEDDED_WORDS
            line.append(next((words for words in told if len(words) <= room), told[-1]), muted)
        self.update(line)


def _line(facts: TitleFacts, room: int) -> Text:
    model = short_name(facts.model)
    if model.endswith(":"):  # the server's first model, which is not known before it is asked
        model = f"{model[:-1]} (first model of the server)"
    effort = f"{facts.effort} effort" if facts.effort else ""
    asked = f"{facts.questions} to allow" if facts.questions else ""
    sandbox = "sandboxed" if facts.sandboxed else ""
    private = "private" if facts.private else ""
    policy, branch = one_line(facts.policy, 24), one_line(facts.branch, 24)
    told = (asked, private, one_line(model, 44), one_line(effort, 24), policy, sandbox, branch)
    right = " · ".join(filter(None, told))
    line = Text(no_wrap=True)
    line.append(f"co-tui · {one_line(facts.session, 60)}" if facts.session else "co-tui", "bold")
    line.truncate(max(8, room - cell_len(right) - 2), overflow="ellipsis")
    line.append(" " * max(2, room - line.cell_len - cell_len(right)))
    line.append(right)
    line.truncate(room, overflow="ellipsis")
    return line
