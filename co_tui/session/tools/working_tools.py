"""The tools for the working directory: decides which a session gets, and builds them from the harness's parts."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic_ai.capabilities import AbstractCapability, PrepareTools
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.workspaces import Workspace, WorkspaceTimeoutError
from pydantic_ai_harness.ask_user import AskUser, AskUserAnswer, AskUserRequest, AskUserResponse
from pydantic_ai_harness.planning import Planning

from co_tui.agent.known_keys import KnownKeys
from co_tui.agent.permissions.verdict import VERDICT
from co_tui.agent.tool_names import CHANGING_TOOLS, COMMAND_TOOLS
from co_tui.events.images import sendable_type
from co_tui.events.tool_calls import WEB_FETCH, WEB_SEARCH
from co_tui.folders import Folders
from co_tui.inert import inert
from co_tui.session.approvals.permissions import Permissions
from co_tui.session.approvals.questions import ModelAnswer, ModelQuestion, Questions
from co_tui.session.processes.child_process import BoundedOutput
from co_tui.session.tools.after_edit import AfterEdit, Checking
from co_tui.session.tools.folder.file_changes import FileChanges
from co_tui.session.tools.folder.folder_tools import FolderFiles
from co_tui.session.tools.folder.project_instructions import (
    InstructionSources,
    NestedInstructions,
    ProjectInstructions,
)
from co_tui.session.tools.folder.project_texts import ProjectSkills
from co_tui.session.tools.folder.seen_files import SeenFiles
from co_tui.session.tools.folder.session_folder import SessionFolder, WrapFolder
from co_tui.session.tools.kept_output import SHOWN_BYTES
from co_tui.session.tools.mcp_tools import McpTools, mcp_call_text
from co_tui.session.tools.page_cache import PageCache
from co_tui.session.tools.plan_mode import PlanMode
from co_tui.session.tools.running_commands import ENDS_WITH_CALL
from co_tui.session.tools.session_plan import SessionPlan
from co_tui.session.tools.shell_tools import LimitedShell
from co_tui.session.tools.web_tools import WebTools
from co_tui.session.workplace.session_workplace import SessionWorkplace
from co_tui.settings import Settings
from co_tui.settings.claude_code.instruction_files import InstructionFile
from co_tui.settings.markdown.command_files import SKILL_FOLDERS
from co_tui.settings.permission_rules import MCP
from co_tui.settings.rules import SANDBOX, SANDBOX_OFF
from co_tui.settings.trust_requests import INSTRUCTION_FILES, further_instructions

SMALLEST_WINDOW_TOKENS: Final = 5_000
"""Below this, there are no tools: their results would leave no room to answer."""
TOOLS_SHARE: Final = 0.29
"""Of the window: at most this is for the definitions of tools."""
TOOL_TOKENS: Final = {
    "commands": 800, "files": 1_400, "plan": 200, "instructions": 0, "skills": 100, "questions": 600, "agents": 300,
    "web": 200, "mcp": 400,
}  # fmt: skip
"""What each kind takes, by our estimate; in a small window, those at the end are dropped first."""
ROOMY_WINDOW_TOKENS: Final = 16_000
"""Below this, a call edits one file only."""
MOST_READ_CHARS: Final = 50_000
FURTHER_FOLDERS: Final = "The user added further folders, in which the tools work, too; give whole paths there:"
_FILE_TOOLS: Final = (
    "read_file", "write_file", "edit_file", "list_directory", "search_files", "find_files", "create_directory",
)  # fmt: skip
_PLAN_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "description": "The complete ordered list of steps.",
            "items": {
                "type": "object",
                "properties": {
                    "content": {"type": "string", "description": "What to do, e.g. 'Add the migration'."},
                    "status": {"enum": ["pending", "in_progress", "completed", "cancelled"], "default": "pending"},
                },
                "required": ["content"],
            },
        }
    },
    "required": ["items"],
}
"""What a session's plan uses of the harness's steps: theirs costs every request 450 tokens more."""


async def _with_brief_plan(ctx: RunContext[Any], tools: list[ToolDefinition]) -> list[ToolDefinition]:
    return [replace(tool, parameters_json_schema=_PLAN_SCHEMA) if tool.name == "write_plan" else tool for tool in tools]


class WorkingTools:
    """The tools of one session's folder that its settings and the model's window allow."""

    def __init__(
        self,
        workplace: SessionWorkplace,
        settings: Settings,
        window_tokens: int,
        *,
        questions: Questions,
        plan: SessionPlan,
        own_skills: Sequence[Path],
        instructions: Callable[[], Sequence[InstructionFile]],
        mcp: McpTools,
        pages: PageCache,
        seen: SeenFiles,
        keys: KnownKeys,
        permissions: Permissions,
        checking: Checking,
        read_only: bool = False,
        wrap_folder: WrapFolder | None = None,
    ) -> None:
        self._workplace = workplace
        self._wrap_folder = wrap_folder
        self._permissions = permissions
        self._settings = settings
        self._window_tokens = window_tokens
        self._questions = questions
        self._plan = plan
        self._own_skills = own_skills
        self._instructions = instructions
        self._mcp = mcp
        self._checking = checking
        self._web = WebTools(settings, permissions, pages)
        self._read_only = read_only
        self._has = tools_for_window(window_tokens, settings.tools)
        self._hides = permissions.hides if permissions.limits_reading else None
        self._keys = keys
        self._files = self._readable_files(seen)
        self._changes = self._make_changes(seen)

    def _make_changes(self, seen: SeenFiles) -> FileChanges:
        """Previews changes."""
        files = FolderFiles(tools=_FILE_TOOLS, content_hashes=False)
        files.makes, files.folders = self._workplace.file_tools, self._workplace.folders
        files.keys = self._keys
        return FileChanges(files, self._workspace, seen)

    def _workspace(self) -> Workspace:
        """The folder, to be used without a run."""
        return Workspace(self._make_folder().backend())

    def _readable_files(self, seen: SeenFiles) -> "_ReadableFiles":
        files = _ReadableFiles(
            tools=_FILE_TOOLS, content_hashes=False, read_only=self._read_only, max_read_chars=MOST_READ_CHARS
        )
        files.hides = self._hides
        files.outside = self._permissions.outside_reader
        files.seen, files.keys = seen, self._keys
        files.makes, files.folders = self._workplace.file_tools, self._workplace.folders
        files.changes_several = self._window_tokens >= ROOMY_WINDOW_TOKENS
        return files

    def __bool__(self) -> bool:
        return bool(self._has)

    @property
    def given(self) -> tuple[str, ...]:
        """The kinds of tools offered."""
        return self._has

    def capabilities(self) -> Sequence[AbstractCapability[Any]]:
        """The offered tools, and the folder they work in; empty if all are switched off."""
        made = {
            "files": self._make_files,
            "commands": self._make_commands,
            "plan": self._make_plan,
            "skills": self._make_skills,
            "questions": self._make_questions,
            "instructions": self._make_instructions,
            "mcp": self._make_mcp,
            "web": self._web.capabilities,
        }
        chosen = [capability for name in self._has if name in made for capability in made[name]()]
        return [self._make_folder(), *chosen] if chosen else []

    @property
    def runs_commands(self) -> bool:
        """Whether commands are offered."""
        return "commands" in self._has and not self._read_only

    @property
    def delegates(self) -> bool:
        """Whether tasks can be delegated to other agents."""
        return "agents" in self._has

    async def what(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """What a call would do, as text or as a diff. Raises what its tool raises for an invalid call."""
        if tool in CHANGING_TOOLS:
            return self._keys.removed_from(await self._changes.diff(tool, arguments))
        if tool in COMMAND_TOOLS:
            await self._refuse_without_sandbox()
            return str(arguments.get("command", ""))
        if tool.startswith(MCP):
            return mcp_call_text(tool, arguments)
        if tool in (WEB_FETCH, WEB_SEARCH):
            return str(arguments.get("url") or arguments.get("query") or "")
        return ""

    async def run_line(self, line: str) -> str:
        """Run a command as the model's are run, under the verdict in force; returns what it printed, shortened.

        Raises `WorkspaceError`.
        """
        workspace = self._workspace()
        token = ENDS_WITH_CALL.set(True)
        limit_s = self._settings.command_timeout_s
        try:
            ran = await workspace.run(VERDICT.get().judged_line or line, shell=True, timeout=limit_s)
            output, ended = f"{ran.stdout}{ran.stderr}", f"[exit code: {ran.exit_code}]" if ran.exit_code else ""
        except WorkspaceTimeoutError as late:
            output, ended = f"{late.stdout}{late.stderr}", f"[stopped after {limit_s:g} s]"
        finally:
            ENDS_WITH_CALL.reset(token)
        shown = BoundedOutput(SHOWN_BYTES)
        shown.add(output.rstrip("\n").encode())
        return "\n".join(filter(None, (shown.text, ended)))

    async def _refuse_without_sandbox(self) -> None:
        """Do not ask about a command that cannot run."""
        if trouble := await self._workplace.sandbox_problem(self._permissions.sandbox):
            raise ToolFailed(trouble)

    def _make_folder(self) -> SessionFolder:
        permissions = self._permissions
        kind = self._settings.command_sandbox
        return self._workplace.tool_folder(
            SANDBOX if kind == SANDBOX_OFF else kind,
            is_sandboxed=lambda: permissions.sandbox != SANDBOX_OFF,
            read_only=self._read_only,
            wrap=self._wrap_folder,
        )

    def _make_files(self) -> Sequence[AbstractCapability[Any]]:
        checks = self._settings.after_edit
        checking = [AfterEdit(checks, self._checking, lambda: self._permissions.state)] if checks else []
        return [*checking, self._files, FolderList(self._workplace.folders)]

    def _make_commands(self) -> Sequence[AbstractCapability[Any]]:
        return [LimitedShell(self._settings.command_timeout_s, self._workplace.commands, self._permissions)]

    def _make_plan(self) -> Sequence[AbstractCapability[Any]]:
        # Not injected into requests: only what is logged is counted and sent.
        planning = Planning[Any](store=self._plan, inject=False, tools=["write_plan"])
        return [planning, PrepareTools(_with_brief_plan), PlanMode(self._plan, lambda: self._permissions.mode)]

    def _make_skills(self) -> Sequence[AbstractCapability[Any]]:
        return [self._skills]

    @property
    def _skills(self) -> ProjectSkills:
        return ProjectSkills(self._workplace.texts(self._own_skills), SKILL_FOLDERS, self._own_skills)

    async def read_skills(self) -> Mapping[str, str]:
        """The instructions of each skill as the model gets them; none if skills are switched off."""
        if "skills" not in self._has:
            return {}
        return await self._skills.instructions_by_name()

    def _make_questions(self) -> Sequence[AbstractCapability[Any]]:
        return [AskUser(answerer=ModelQuestions(self._questions))]

    def _make_mcp(self) -> Sequence[AbstractCapability[Any]]:
        # Only the server knows which of its tools are read-only.
        servers = self._settings.mcp_servers
        if not servers or self._read_only:
            return []
        return [self._mcp.capability(servers, self._window_tokens), self._mcp.instructions(servers)]

    def _make_instructions(self) -> Sequence[AbstractCapability[Any]]:
        sources = InstructionSources(self._workplace.texts(), INSTRUCTION_FILES, self._instructions)
        hides, added = self._hides, self._added_sources
        nested = NestedInstructions(sources, lambda: self._permissions.state, hides, added)
        return [ProjectInstructions(sources, hides, added), nested]

    def _added_sources(self) -> list[InstructionSources]:
        """Those of the added folders that are trusted. Blocks."""
        return [
            InstructionSources(texts, INSTRUCTION_FILES, partial(further_instructions, Path(texts.folder)))
            for texts in self._workplace.added_texts()
        ]


def tools_for_window(window_tokens: int, chosen: Sequence[str]) -> tuple[str, ...]:
    """Those of the chosen tools that fit their share of a window; what is used least goes first."""
    if window_tokens < SMALLEST_WINDOW_TOKENS:
        return ()
    room, fitting = TOOLS_SHARE * window_tokens, set[str]()
    for name, tokens in TOOL_TOKENS.items():
        if name in chosen and (room := room - tokens) >= 0:
            fitting.add(name)
    return tuple(name for name in chosen if name in fitting)


class _ReadableFiles(FolderFiles):
    """Reads texts, and images if the model takes them; for other files it says why not."""

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], result: Any
    ) -> Any:
        if call.tool_name != "read_file" or not isinstance(result, list):
            return result
        header, file = result
        if not file.is_image:
            return f"{header}Not a text file; it cannot be read here."
        if isinstance(ctx.model, Model) and not ctx.model.profile.get("supports_image_input", True):
            return f"{header}An image, which this model does not take."
        return result if sendable_type(file.data) else f"{header}A damaged image."


class FolderList(AbstractCapability[Any]):
    """Names the folders that were added to the session, in every request."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders

    def get_instructions(self) -> Any:
        async def instructions(_: RunContext[Any]) -> str | None:
            added = await asyncio.to_thread(lambda: self._folders.added)
            return f"{FURTHER_FOLDERS} {', '.join(map(str, added))}." if added else None

        return instructions


class ModelQuestions:
    """Asks the model's questions, for the harness's tool; declining one declines all asked with it."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    async def __call__(self, request: AskUserRequest, /) -> AskUserResponse:
        answers = []
        for each in request.questions:
            labels = tuple(option.label for option in each.options)
            asked = ModelQuestion(
                question=each.question,
                options=labels,
                descriptions=tuple(option.description or "" for option in each.options),
                multiple=each.multi_select,
            )
            answer = await self._questions.ask(asked)
            if answer.declined:
                return AskUserResponse(cancelled=True)
            answers.append(_answer(each.header, labels, answer))
        return AskUserResponse(answers=tuple(answers))


def _answer(header: str, labels: tuple[str, ...], answer: ModelAnswer) -> AskUserAnswer:
    if selected := answer.selected or tuple(label for label in labels if label == answer.text):
        return AskUserAnswer(header=header, selected=selected)
    # The tool rejects control characters, tabs included.
    return AskUserAnswer(header=header, custom_answer=inert(answer.text).replace("\t", " "))
