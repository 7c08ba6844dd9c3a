"""Turns an approval request into a question: title, text and choices."""

import json
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from co_tui.agent.tool_names import CHANGING_TOOLS, COMMAND_TOOLS, mcp_server_and_tool
from co_tui.events import Json
from co_tui.events.file_diff import FileDiff, read_diff
from co_tui.events.stored_messages import text_of
from co_tui.events.tool_calls import WEB_FETCH, WEB_SEARCH, changed_paths, tool_label
from co_tui.events.tool_wording import argument_lines
from co_tui.events.wording import counted
from co_tui.inert import inert, one_line
from co_tui.session.approvals.questions import ApprovalQuestion
from co_tui.settings.permission_rules import MCP, rules_text
from co_tui.settings.rules import ASK, AUTO, EDITS
from co_tui.ui.approvals.choices import Choice, Choices
from co_tui.ui.approvals.question_bar import Question
from co_tui.ui.formatting import folder

NAME_CHARS: Final = 40
NAMES_CHARS: Final = 60
"""Of several files together."""
AGENT_CHARS: Final = 20
SENTENCE_CHARS: Final = 300
SEND_BACK: Final = Choice("r", "Send back with comments", writes="Comments for the model")
PLAN_MODES: Final = {"y": ASK, "e": EDITS, "a": AUTO}
"""The mode an accepted plan runs in, by the key of the answer."""
ANSWER_LETTERS: Final = "ybspAnr"
"""Of all questions about calls, though not every one offers all of them."""
DENY: Final = (
    Choice("n", "Deny"),
    Choice("r", "Deny with a reason", same_row=True, writes="Deny, because… (for the model)"),
)
ALL_EDITS: Final = "A"
REST: Final = "b"


def approval_panel(question: ApprovalQuestion, *, has_sandbox: bool) -> Question:
    """The question to show; `has_sandbox` says whether mode auto can be offered."""
    return _plan(question, has_sandbox=has_sandbox) if question.is_plan else _call(question)


def _call(question: ApprovalQuestion) -> Question:
    change = read_diff(question.what) if question.tool in CHANGING_TOOLS else None
    reason = [one_line(question.reason, SENTENCE_CHARS)] if question.reason else []
    return Question(
        title=_agent(question) + _title(question, change),
        text=inert(_text(question)),
        choices=_choices(question),
        where=_where(question.where),
        number=question.number,
        of=question.of,
        note=one_line(question.note, SENTENCE_CHARS),
        warning=one_line(question.danger, SENTENCE_CHARS),
        below=(*_new_here(question), *reason),
        whole=_whole(question),
        opens=True,
        diff=change,
        is_command=question.tool in COMMAND_TOOLS,
        unoffered=ANSWER_LETTERS,
    )


def _agent(question: ApprovalQuestion) -> str:
    return f"{one_line(question.agent, AGENT_CHARS)}: " if question.agent else ""


def _title(question: ApprovalQuestion, change: FileDiff | None) -> str:
    tool, paths = question.tool, list(dict.fromkeys(changed_paths(question.tool, question.arguments)))
    path = one_line("".join(paths[:1]), NAME_CHARS)
    if tool in COMMAND_TOOLS:
        return "Start this command in the background?" if tool == "start_command" else "Run this command?"
    if len(paths) > 1:
        return f"Change {_names(paths)}?{f' {change.figures}' if change is not None else ''}"
    if change is not None:
        return f"{'Create' if change.is_new else 'Change'} {path}? {change.figures}"
    if tool in CHANGING_TOOLS:
        return f"Create the folder {path}?" if tool == "create_directory" else f"Change {path}?"
    if tool.startswith(MCP):
        server, name = mcp_server_and_tool(tool)
        return f"Use {one_line(name, NAME_CHARS)} ({one_line(server, NAME_CHARS)})?"
    if tool == WEB_FETCH:
        return f"Fetch a page from {one_line(', '.join(question.new), NAME_CHARS)}?"
    if tool == WEB_SEARCH:
        return "Search the web for this?"
    return f"Use the tool {one_line(tool, NAME_CHARS)}?"


def _names(paths: Sequence[str]) -> str:
    """The names of several files, as many as fit."""
    names = [one_line(path, NAME_CHARS) for path in paths]
    ends = list(accumulate(map(len, names)))
    count = max(1, sum(end <= NAMES_CHARS for end in ends))
    *others, last = names if count == len(names) else [*names[:count], counted(len(names) - count, "more file")]
    return f"{', '.join(others)} and {last}"


def _text(question: ApprovalQuestion) -> str:
    if question.tool.startswith(MCP):  # the first line names the tool, as the title does
        first, _, arguments = question.what.partition("\n")
        return arguments or first
    return _without_gaps(question.what) if question.tool in COMMAND_TOOLS else question.what


def _without_gaps(text: str) -> str:
    """Long gaps must not hide the rest of a line."""
    return re.sub(r"[ \t]{20,}", lambda gap: f" ⟨{len(gap[0]):,} blanks⟩ ", text)


def _where(where: str) -> str:
    path, separator, sandbox = where.partition(" · ")
    return f"{folder(path, NAME_CHARS)}{separator}{one_line(sandbox, 2 * NAME_CHARS)}" if where else ""


def _new_here(question: ApprovalQuestion) -> list[str]:
    """The new parts of a command line, unless all of it is new."""
    if question.tool not in COMMAND_TOOLS or not question.new:
        return []
    if sum(map(_letters, question.new)) >= _letters(question.what):
        return []
    return [f"new here: {one_line(', '.join(question.new), SENTENCE_CHARS)}"]


def _letters(text: str) -> int:
    """Letters and digits only: operators and quotes are spelled in several ways."""
    return sum(character.isalnum() for character in text)


def _choices(question: ApprovalQuestion) -> Choices:
    """Destructive or publishing calls are allowed once only, by their letter and Enter."""
    if question.danger:
        once = Choice("y", "Allow once (y, then Enter)", letter_only=True)
        return Choices((once, *DENY))  # marks the first that Enter may choose
    rules = rules_text(question.rules)
    longer = (
        Choice("s", "Allow {} this session", rules),
        Choice("p", "Always allow {} in this project", rules),
    )
    rest = (Choice(REST, "Allow the rest of this batch…", same_row=True),) if question.rest else ()
    is_edit = question.tool in CHANGING_TOOLS and EDITS in question.modes and bool(rules)
    edits = (Choice(ALL_EDITS, f"Allow all edits this session (mode: {EDITS})"),) if is_edit else ()
    return Choices((Choice("y", "Allow once"), *rest, *(longer if rules else ()), *edits, *DENY))


def rest_panel(question: ApprovalQuestion) -> Question:
    """Lists the calls that are allowed together, with the diff of each change."""
    calls = [
        (question.tool, question.arguments, question.what if question.tool in COMMAND_TOOLS else ""),
        *((each.tool, each.arguments, "") for each in question.rest),
    ]
    shown = [question.what if question.tool in CHANGING_TOOLS else "", *(each.what for each in question.rest)]
    changes = [read_diff(each) if each else None for each in shown]
    others = question.of - question.number - len(question.rest)
    verb = "is" if others == 1 else "are"
    return Question(
        title=f"Allow these {len(calls)} calls?",
        text="\n".join(_listed(*call) for call in calls),
        changes=tuple(filter(None, changes)),
        whole="\n\n".join(
            inert(f"{tool_label(tool)}\n{_without_gaps(argument_lines(json.dumps(given)))}\n{what}".rstrip())
            for (tool, given, _), what, change in zip(calls, shown, changes, strict=True)
            if change is None
        ),
        choices=Choices((Choice(REST, "Allow all of them once"), Choice("n", "Back", same_row=True))),
        below=(f"{counted(others, 'more call')} {verb} asked about separately.",) if others else (),
        opens=True,
        unoffered=ANSWER_LETTERS,
    )


def _listed(tool: str, arguments: Json, what: str) -> str:
    line = what or (str(arguments.get("command", "")) if tool in COMMAND_TOOLS else "")
    paths = ", ".join(dict.fromkeys(changed_paths(tool, arguments)))
    shown = " ⏎ ".join(line.splitlines()) or paths or _argument_line(arguments)
    return inert(_without_gaps(f"{tool_label(tool)}  {shown}"))


def _argument_line(arguments: Json) -> str:
    """All arguments in one line, none of them shortened."""
    return " · ".join(f"{name}: {' '.join(text_of(value).split())}" for name, value in arguments.items())


def _whole(question: ApprovalQuestion) -> str:
    """The details the panel may have to shorten."""
    lines = [
        f"New here: {', '.join(question.new)}" if _new_here(question) else "",
        question.reason,
        f"Runs in {question.where}" if question.where else "",
        f"{'Rules' if len(question.rules) > 1 else 'Rule'} for s and p: {rules_text(question.rules)}"
        if question.rules and not question.danger
        else "",
    ]
    return inert("\n".join(filter(None, lines)))


def _plan(question: ApprovalQuestion, *, has_sandbox: bool) -> Question:
    steps = question.arguments.get("steps")
    listed = steps if isinstance(steps, list | tuple) else ()
    numbered = "\n".join(f"{n}. {' '.join(str(step).split())}" for n, step in enumerate(listed, 1))
    summary = str(question.arguments.get("summary") or "").strip()
    accept = [Choice("y", "Accept, ask before changes")]
    accept += [Choice("e", "Accept, edit files freely")] if EDITS in question.modes else []
    accept += [Choice("a", "Accept, run in the sandbox")] if has_sandbox and AUTO in question.modes else []
    return Question(
        title=f"{_agent(question)}Accept this plan?",
        text=inert("\n\n".join(filter(None, (summary, numbered))) or question.what),
        choices=Choices((*accept, SEND_BACK, Choice("n", "Not now", same_row=True))),
        is_markdown=True,
        number=question.number,
        of=question.of,
        note=one_line(question.note, SENTENCE_CHARS),
        opens=True,
        unoffered=ANSWER_LETTERS,
    )
