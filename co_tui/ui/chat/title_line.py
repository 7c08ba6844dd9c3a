"""The title line: session, who answers, policy and folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from textual.content import Content
from textual.widgets import Static

from co_tui.agent.models.catalogue import EMBEDDED, EMBEDDED_LABEL
from co_tui.events.model_names import model_name, short_name
from co_tui.inert import one_line
from co_tui.paths import home_text
from co_tui.settings import policy_label

EMBEDDED_NOTICES = (
    f"Embedded model {EMBEDDED_LABEL} (offline, small, no tools). {{}} chooses another.",
    f"Embedded model {EMBEDDED_LABEL} (offline). {{}} chooses another.",
)
"""Longest first; `{}` is the key or command that chooses another model."""
MISSING_NOTICES = (
    f"No model yet: /fetch downloads {EMBEDDED_LABEL} (works offline). {{}} chooses another.",
    "No model yet: /fetch downloads one. {} chooses another.",
)
"""The same while the embedded model is chosen but not installed."""
SEPARATOR = Content.styled(" · ", "$muted")
NOT_PUSHED = "not pushed"
"""The shortest form of what is only on this machine."""
MAX_FOR_TITLE = 30
"""Cells of the session's title that take precedence over everything but the model's name."""


class TitleFacts(NamedTuple):
    """What the title line shows."""

    session: str = ""
    model: str = ""
    policy: str = ""
    branch: str = ""
    effort: str = ""
    """The reasoning effort; empty for models that have none."""
    sandboxed: bool = False
    """Whether shell commands run in the sandbox."""
    questions: int = 0
    """Tool calls that wait for approval."""
    private: bool = False
    """Whether nothing is stored."""
    missing: bool = False
    """Whether the embedded model is not installed."""
    other_model: str = ""
    """The key or command that chooses another model."""
    where: str = ""
    """The folder on another host, if the session works there."""
    unpushed: str = ""
    """What is only on this machine as yet."""
    folder: str = ""
    """The name of the folder on this machine."""
    added: tuple[str, ...] = ()
    """The names of the folders that were added to it."""
    speaker: str = ""
    """The agent that answers; empty for the main agent."""


class TitleLine(Static):
    """Fits any width; with the embedded model, a second line says how to choose another."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._shown: tuple[TitleFacts, int] | None = None

    def show(self, facts: TitleFacts) -> None:
        room = max(0, self.app.size.width - 2)
        if self._shown == (facts, room):
            return  # an update would lay out the whole screen
        self._shown = facts, room
        line = title_line(facts, room)
        if facts.model == EMBEDDED:
            parts = [
                notice.format(facts.other_model) for notice in (MISSING_NOTICES if facts.missing else EMBEDDED_NOTICES)
            ]
            notice = next((notice for notice in parts if len(notice) <= room), parts[-1])
            line = Content.assemble(line, "\n", (notice, "$muted"))
        self.update(line)


def title_line(facts: TitleFacts, room: int) -> Content:
    session = [(" · ", "$muted"), (one_line(facts.session, 60), "bold")] if facts.session else []
    left, gap = Content.assemble(("co-tui", "bold $primary"), *session), 2
    needed = min(left.cell_length, MAX_FOR_TITLE)
    forms = [SEPARATOR.join(parts) for parts in _right_forms(facts)]
    right = next((form for form in forms if needed + gap + form.cell_length <= room), forms[-1])
    left = left.truncate(max(8, room - right.cell_length - gap), ellipsis=True)
    between = " " * max(gap, room - left.cell_length - right.cell_length)
    return Content.assemble(left, between, right).truncate(room, ellipsis=True)


def folder_name(path: Path) -> str:
    """The last part of a path, as a folder; `~` for the home folder."""
    return "~" if home_text(str(path)) == "~" else f"{path.name}/"


def _added_text(added: tuple[str, ...]) -> str:
    return f"+{len(added)} folder{'s' if len(added) > 1 else ''}" if added else ""


def _right_forms(facts: TitleFacts) -> Iterator[list[Content]]:
    """The right side, longest form first; what affects permissions is always kept, and that something is only here."""
    model = short_name(facts.model)
    if model.endswith(":"):  # the server's first model, unknown until the first request
        model = f"{model[:-1]} (the server's first model)"
    pending = f"{facts.questions} approval{'s' if facts.questions > 1 else ''} pending" if facts.questions else ""
    waits = Content.styled(pending, "bold $warning")
    private, sandbox = "private" if facts.private else "", "sandboxed" if facts.sandboxed else ""
    effort = one_line(f"{facts.effort} effort" if facts.effort else "", 24)
    policy, branch = one_line(policy_label(facts.policy), 24), one_line(facts.branch, 24)
    folder, added = one_line(facts.folder, 18), _added_text(facts.added)
    names = " ".join(f"+ {one_line(each, 18)}" for each in facts.added)
    without_provider = model_name(facts.model)
    host = facts.where.rpartition(":/")[0]
    unpushed = facts.unpushed
    for who, where, further in (
        (model, facts.where, (unpushed, effort, policy, sandbox, f"{folder} {names}".strip(), branch)),
        (model, facts.where, (unpushed, effort, policy, sandbox, f"{folder} {added}".strip(), branch)),
        (without_provider, facts.where, (unpushed, effort, policy, sandbox, f"{folder} {added}".strip(), branch)),
        (without_provider, host, (unpushed, effort, policy, sandbox, f"{folder} {added}".strip())),
        (without_provider, host, (unpushed, effort, policy, sandbox, added)),
        (without_provider, host, (unpushed, sandbox, added)),
        (without_provider, host, (unpushed and NOT_PUSHED, sandbox, added)),
    ):
        parts = [
            waits,
            Content.styled(one_line(where, 40), "bold $accent"),
            Content(private),
            Content.styled(one_line(facts.speaker, 24), "bold"),
            Content(one_line(who, 44)),
            *(Content.styled(each, "$muted") for each in further),
        ]
        yield [each for each in parts if each]
