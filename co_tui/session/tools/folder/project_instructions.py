"""The instruction files of a project: in every request those of the folder and above, with a result those below."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ToolCallPart, ToolReturn
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.workspaces import Workspace, WorkspaceError
from pydantic_ai_harness.repo_context import ContextFile, RepoContext

from co_tui.agent.library_internals import discover_instruction_files, find_dir_context_file, render_context_file
from co_tui.events.stored_messages import INSTRUCTIONS
from co_tui.events.tool_calls import changed_paths
from co_tui.session.state.session_state import SessionState
from co_tui.session.tools.folder.globs import path_globs
from co_tui.session.tools.folder.instruction_imports import InstructionImports
from co_tui.session.tools.folder.project_texts import ProjectTexts, Texts
from co_tui.session.turns.current_agent import CURRENT_AGENT
from co_tui.settings.claude_code.instruction_files import InstructionFile

TOUCHING: Final = frozenset(("read_file", "write_file", "edit_file", "edit_files"))
"""Tools whose results bring the instructions of the folders they touch."""
MOST_FOLDERS: Final = 20
NOTE: Final = "[Instructions of the project for this folder:]"


class InstructionSources(NamedTuple):
    """Where instructions come from."""

    texts: Texts
    names: Sequence[str]
    """Of the files in any folder of the project that need no trust."""
    others: Callable[[], Sequence[InstructionFile]] = tuple
    """Reads the user's own, and those of a trusted project. Blocks."""


AddedSources = Callable[[], Sequence[InstructionSources]]
"""Those of folders that were added and are trusted. Blocks."""


class ProjectInstructions(RepoContext[Any]):
    """The current instruction files with what they import, in every request. Sent as changes, they would be put into
    messages that are already logged, and be lost."""

    def __init__(
        self,
        sources: InstructionSources,
        hides: Callable[[Path], bool] | None = None,
        added: AddedSources = tuple,
    ) -> None:
        super().__init__(filenames=sources.names)
        self._sources = sources
        self._hides = hides
        self._added = added

    async def before_run(self, ctx: RunContext[Any]) -> None:
        """While a host is not reached, they are as they were."""
        with suppress(OSError):
            self._cached_working_dir = Path(self._sources.texts.folder)
            every = [self._sources, *await asyncio.to_thread(self._added)]
            self._context_files = [file for each in every for file in await self._files_of(each)]

    async def _files_of(self, sources: InstructionSources) -> list[ContextFile]:
        texts = sources.texts
        workspace, project = Workspace(ProjectTexts(texts)), Path(await asyncio.to_thread(texts.project))
        found = await discover_instruction_files(workspace, Path(texts.folder), project, sources.names)
        return await asyncio.to_thread(self._readable, sources, found)

    def _readable(self, sources: InstructionSources, found: Sequence[ContextFile]) -> list[ContextFile]:
        """The files and what they import: the user's own first, those for one's work here last. No text is twice."""
        others = [(each, _context_file(each)) for each in sources.others() if not each.patterns]
        own = [file for each, file in others if each.root is None]
        project = [file for each, file in others if each.root is not None]
        files: dict[str, ContextFile] = {}
        for file in (*own, *found, *project):
            if not is_hidden(file, sources.texts, self._hides):
                files.setdefault(file.content.strip(), file)
        return InstructionImports(sources.texts, self._hides).added_to(list(files.values()))

    def _collect_instructions(self) -> Any:
        return AbstractCapability._collect_instructions(self)


def is_hidden(file: ContextFile, texts: Texts, hides: Callable[[Path], bool] | None) -> bool:
    """Whether reading a file needs approval."""
    return hides is not None and hides(Path(texts.find(str(file.path)).real))


def _context_file(file: InstructionFile) -> ContextFile:
    return ContextFile(directory=file.file.parent, path=file.file, content=file.text)


class NestedInstructions(AbstractCapability[Any]):
    """Adds the instruction files of folders below, and those for some files, to the first result that touches them,
    each once while it is in the conversation.

    The harness would add them as messages of their own, which count as the user's prompts here."""

    def __init__(
        self,
        sources: InstructionSources,
        state: Callable[[], SessionState],
        hides: Callable[[Path], bool] | None = None,
        added: AddedSources = tuple,
    ) -> None:
        self._sources = sources
        self._folder = Path(sources.texts.folder)
        self._hides = hides
        self._added = added
        self._shown = _Shown(state)

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any], result: Any
    ) -> Any:
        text = result.return_value if isinstance(result, ToolReturn) else result
        if call.tool_name not in TOUCHING or not isinstance(text, str):
            return result
        new = [each for path in changed_paths(call.tool_name, args) for each in await self._new_blocks(path)]
        if not new:
            return result
        longer = "\n\n".join([text, NOTE, *(block for _, block in new)])
        whole = result if isinstance(result, ToolReturn) else ToolReturn(return_value=text)
        labels = {INSTRUCTIONS: [label for label, _ in new]}
        return replace(whole, return_value=longer, metadata={**(whole.metadata or {}), **labels})

    async def _new_blocks(self, path: str) -> list[tuple[str, str]]:
        """The instructions for a path that the model was not given yet, outermost first: their labels and texts."""
        blocks = []
        with suppress(OSError, ValueError, WorkspaceError):
            sources, real = await asyncio.to_thread(self._place, path)
            for found in await self._found(sources, real):
                if not self._shown.has(label := self._label(found, sources)):
                    imported = await asyncio.to_thread(self._with_imports, sources.texts, found)
                    if imported:
                        self._shown.add(label)
                    labels = [self._label(each, sources) for each in imported]
                    blocks += [
                        (label, render_context_file(each, label=label))
                        for label, each in zip(labels, imported, strict=True)
                    ]
        return blocks

    def _place(self, path: str) -> tuple[InstructionSources, Path]:
        """The instructions of the folder that a path is in, ours or an added one, and its real path."""
        real = Path(self._sources.texts.find(str(self._folder / path)).real)
        added = (each for each in self._added() if real.is_relative_to(each.texts.folder))
        return next(added, self._sources), real

    async def _found(self, sources: InstructionSources, real: Path) -> list[ContextFile]:
        """The instruction files for a path."""
        workspace, folders = Workspace(ProjectTexts(sources.texts)), _folders(Path(sources.texts.folder), real)
        below = [await find_dir_context_file(workspace, folder, sources.names) for folder in folders]
        others = await asyncio.to_thread(sources.others)
        return [
            *filter(None, below),
            *(_context_file(each) for each in others if each.patterns and _is_for(each, real)),
        ]

    def _with_imports(self, texts: Texts, found: ContextFile) -> list[ContextFile]:
        return [] if is_hidden(found, texts, self._hides) else InstructionImports(texts, self._hides).added_to([found])

    def _label(self, file: ContextFile, sources: InstructionSources) -> str:
        return os.path.relpath(file.path, self._folder) if sources is self._sources else str(file.path)


def _folders(start: Path, real: Path) -> list[Path]:
    """The folders from `start`, without it, down to the one that holds a file."""
    names = real.parent.relative_to(start).parts[:MOST_FOLDERS] if real.is_relative_to(start) else ()
    return [start.joinpath(*names[: count + 1]) for count in range(len(names))]


def _is_for(file: InstructionFile, real: Path) -> bool:
    """Whether a file, links resolved, is one that instructions are for; their patterns begin at the project's root."""
    root = file.root
    return (
        root is not None and real.is_relative_to(root) and path_globs(file.patterns)(real.relative_to(root).as_posix())
    )


class _Shown:
    """The instruction files in the conversation of each agent."""

    def __init__(self, state: Callable[[], SessionState]) -> None:
        self._state = state
        self._rewrites: tuple[int, ...] | None = None
        self._known: dict[str, set[str]] = {}

    def has(self, label: str) -> bool:
        """Reads the history again only after it was rewritten."""
        state = self._state()
        rewrites = tuple(each.seq for each in state.rewrites)
        if rewrites != self._rewrites:
            self._rewrites = rewrites
            self._known[""] = _shown_in(state)
        return label in self._known.get(CURRENT_AGENT.get(), ())

    def add(self, label: str) -> None:
        self._known.setdefault(CURRENT_AGENT.get(), set()).add(label)


def _shown_in(state: SessionState) -> set[str]:
    """By what their results were logged with; a text may say anything."""
    parts = (part for entry in state.history for part in entry.message.get("parts", ()))
    about = (part.get("metadata") for part in parts if part.get("tool_name") in TOUCHING)
    return {str(label) for each in about if isinstance(each, Mapping) for label in each.get(INSTRUCTIONS) or ()}
