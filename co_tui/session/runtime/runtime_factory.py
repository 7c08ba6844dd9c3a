"""Build the runtime of a session for each model and policy it uses."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic_ai.toolsets import AbstractToolset

from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.agent.models.open_model import ModelHandle
from co_tui.agent.permissions.judge import Judge
from co_tui.agent.permissions.sandbox import Sandbox, sandbox_text
from co_tui.agent.redact import keys_in
from co_tui.agent.tool_names import OWN_TOOLS
from co_tui.agent.toolkit import EMBEDDED_INSTRUCTIONS, INSTRUCTIONS, Toolkit, working_instructions
from co_tui.agent.wire.model_errors import ModelUnusable
from co_tui.agent.wire.request_failures import RequestTarget
from co_tui.context.measure.count import Scaffold, Window, estimated_window
from co_tui.context.measure.meter import Meter
from co_tui.context.policy import policy_of
from co_tui.context.request.pipeline import Governor
from co_tui.events import SessionError
from co_tui.paths import path_text
from co_tui.session.approvals.created_files import CreatedFiles
from co_tui.session.approvals.permissions import Permissions
from co_tui.session.compaction.applying import Applier
from co_tui.session.compaction.compaction_files import CompactionFiles, Remembered
from co_tui.session.compaction.compactor import Compactor
from co_tui.session.compaction.hooks import Hooks
from co_tui.session.compaction.job import Compactable, no_skills
from co_tui.session.compaction.model_summaries import ModelSummaries, SummaryModels
from co_tui.session.compaction.recovery import DelegatedRecovery, Recovery
from co_tui.session.environment import Environment
from co_tui.session.history.governed_history import GovernedHistory
from co_tui.session.history.request_scaffold import ScaffoldFile
from co_tui.session.recorder import Recorder
from co_tui.session.runtime.agent_roster import AgentRoster
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.state.parsed_messages import ParsedMessages
from co_tui.session.tools.archive import Archive
from co_tui.session.tools.folder.folder_guard import CreatedProtected
from co_tui.session.tools.mcp_tools import McpTools
from co_tui.session.tools.memory_search import MemorySearch
from co_tui.session.tools.own_tools import MemoryUse, OwnTools, memory_use
from co_tui.session.tools.recall import Recall
from co_tui.session.tools.running_commands import RunningCommands
from co_tui.session.tools.session_plan import SessionPlan
from co_tui.session.tools.working_tools import WorkingTools, tools_for_window
from co_tui.session.turns.classify_failure import classify
from co_tui.session.turns.delegations import DelegatedRun, DelegatedTask
from co_tui.session.turns.reply_limits import CutReplies, ReplyRoom
from co_tui.settings import Settings
from co_tui.settings.rules import SANDBOX_OFF
from co_tui.store.notes.daily_memory import DailyMemory

PRE_COMPACT = "preCompact"


class RuntimeFactory:
    """What all runtimes of one session share, and how to make one."""

    def __init__(self, environment: Environment, recorder: Recorder) -> None:
        self._environment = environment
        self._recorder = recorder
        self.parsed = ParsedMessages()
        self._archive = Archive(recorder, self.parsed)
        folder = environment.paths.session(recorder.session_id)
        self.scaffold_file = ScaffoldFile(None if environment.private else folder)
        self.summary_models = SummaryModels(environment.open_model)
        self._mcp = McpTools(environment.mcp_servers, recorder, environment.cwd, environment.environ)
        self._roster = AgentRoster(environment.paths, environment.cwd, environment.open_model)
        paths = environment.paths
        self.commands = RunningCommands(recorder.announce, paths.commands(recorder.session_id), recorder.session_id)
        self.commands.report = self._report_set_aside
        self.commands.may_keep = CreatedFiles(environment.questions).ask
        memory = DailyMemory(paths.memory)
        keys = keys_in(environment.environ)
        remembered = None if environment.private else memory
        self.compaction_files = CompactionFiles(
            recorder, environment.checkpoints(recorder.session_id), remembered, keys
        )
        self.compactor = Compactor(Applier(self.compaction_files), environment.questions)
        recall = Recall(environment.store, recorder.session_id, lambda: recorder.state)
        search = MemorySearch(memory)
        self._tools = OwnTools(self._archive, self.compactor, recall, search, lambda: recorder.state)

    def make(
        self, model_handle: ModelHandle, settings: Settings, window: Window, meter: Meter | None = None
    ) -> Runtime:
        environment, name = self._environment, model_handle.name
        self.compaction_files.remembered = Remembered(settings.daily_memory)
        meter = meter or Meter(environment.ratios.of(name), provider=name.partition(":")[0])
        permissions = self._permissions(settings)
        fits = estimated_window(window.tokens, meter.ratio)
        works = self._working_tools(settings, fits, permissions) if model_handle.takes_tools else None
        instructions = EMBEDDED_INSTRUCTIONS if name == EMBEDDED else self._instructions_with_board(settings, works)
        governor = Governor(policy_of(settings), window, meter=meter, keep=self._archive.keep)
        history = GovernedHistory(self._recorder, self.parsed, governor, model_handle.asked, instructions=instructions)
        history.keep_scaffold = self.scaffold_file.keep
        history.on_answered = partial(environment.limits.answered, model_handle.asked)
        if model_handle.takes_tools:
            history.predict = partial(self._tools.predicted_scaffold, history, self._memory_use(settings))
        summaries, hooks = self._summaries(model_handle, settings), self._hooks(model_handle, settings)
        return Runtime(
            model_handle=model_handle,
            settings=settings,
            instructions=instructions,
            toolkit=self._toolkit(history, works, settings, permissions),
            questions=environment.questions,
            archive=self._archive,
            scaffold_file=self.scaffold_file,
            compactable=Compactable(history, summaries, hooks, works.read_skills if works else no_skills),
            permissions=permissions,
            works=works.given if works else (),
            first_backoff_s=environment.first_backoff_s,
        )

    def scaffold_for(self, runtime: Runtime, sent: Scaffold, window_tokens: int) -> Scaffold | None:
        """The scaffold of a runtime's requests, given the one sent last by another runtime with a window of
        `window_tokens` (in our estimate); None if it is unknown before the first request."""
        if not runtime.model_handle.takes_tools:
            return Scaffold(instructions=runtime.instructions, was_sent=True)
        chosen = runtime.settings.tools if self._environment.works_in_folder else ()
        now_tokens = runtime.history.governor.estimated_window_tokens
        tools_before, tools_now = (tools_for_window(each, chosen) for each in (window_tokens, now_tokens))
        had_others = any(name not in OWN_TOOLS for name in sent.tool_names)
        has_others = bool(tools_now or self._environment.toolsets)
        is_same = (
            tools_before == tools_now
            and had_others == has_others
            and sent.instructions.startswith(runtime.instructions)
        )
        return sent if is_same and sent.is_whole else None

    def surplus_tools(self, runtime: Runtime) -> Sequence[str]:
        """The kinds of tools a runtime offers that do not fit its window, by its model's current token ratio."""
        if not runtime.works:
            return ()
        room = runtime.history.governor.estimated_window_tokens
        return [name for name in runtime.works if name not in tools_for_window(room, runtime.settings.tools)]

    def new_recovery(self, runtime: Runtime) -> Recovery:
        """What to try in a turn whose request is refused as too long."""
        return Recovery(runtime.compactable, self.compactor, self.compaction_files, self._environment.limits)

    async def new_delegated_run(self, runtime: Runtime, asked: DelegatedTask, turn: int) -> DelegatedRun:
        """The run of a delegated task, on the runtime's model or on the agent's own."""
        own, window = await self._own_model(asked, runtime)
        handle, main = own or runtime.model_handle, runtime.history
        ratio = main.governor.meter.ratio if own is None else self._environment.ratios.of(handle.name)
        meter = Meter(ratio, provider=handle.name.partition(":")[0])
        governor = Governor(main.policy.for_delegation(), window, meter=meter)
        history = GovernedHistory(self._recorder, ParsedMessages(), governor, handle.asked, agent=asked.agent)
        history.in_turn = True
        history.on_answered = partial(self._environment.limits.answered, handle.asked)
        files = CompactionFiles(self._recorder, None, None)
        compactor = Compactor(Applier(files), runtime.questions)
        on = runtime.compactable._replace(history=history, summaries=self._summaries(handle, runtime.settings))

        def new_recovery() -> Recovery:
            return DelegatedRecovery(on, compactor, files, self._environment.limits)

        return DelegatedRun(on, compactor, new_recovery, runtime, turn, own)

    async def _own_model(self, asked: DelegatedTask, runtime: Runtime) -> tuple[ModelHandle | None, Window]:
        """The model named in an agent's file, if it differs and can be opened, and its window; else None and the
        runtime's."""
        name = self._roster.model_of(asked.name)
        if name not in ("", runtime.model_handle.name):
            try:
                own = await self._roster.model(name)
                return own, await self._environment.window(own)
            except ModelUnusable as unusable:
                trouble = str(unusable)
            except Exception as error:
                trouble = classify(error, RequestTarget(name))[0].sentence
            instead = f"{asked.name} uses {runtime.model_handle.name} instead"
            await self._recorder.record(SessionError(what=trouble, kind="unusable", outcome=instead, agent=asked.agent))
        return None, runtime.history.governor.window

    def _permissions(self, settings: Settings) -> Permissions:
        environment = self._environment
        paths = environment.paths
        own = (paths.config, paths.state, paths.data)
        judge = Judge(folder=environment.cwd, home=Path.home(), environ=_for_git(environment.environ), own=own)
        kept = environment.kept_approvals
        return Permissions(
            judge,
            self._recorder,
            settings.permissions,
            kept,
            sandbox=settings.command_sandbox,
            asks_first=environment.asks_first,
        )

    def _toolkit(
        self, history: GovernedHistory, works: WorkingTools | None, settings: Settings, permissions: Permissions
    ) -> Toolkit:
        environment, memory = self._environment, self._memory_use(settings)

        def own() -> Sequence[AbstractToolset[Any]]:
            return self._tools.with_own(environment.toolsets, history, memory=memory, works=bool(works))

        capabilities = (CutReplies(self._recorder), *environment.capabilities)
        before_sending = (ReplyRoom(self._recorder),)
        if not works:
            return Toolkit(own, capabilities, permissions.verdict, before_sending=before_sending)

        delegates = self._roster.read if works.delegates else None
        capabilities = (*capabilities, *works.capabilities())
        return Toolkit(own, capabilities, permissions.verdict, works.what, delegates, before_sending)

    def _memory_use(self, settings: Settings) -> MemoryUse:
        use = memory_use(settings)
        return use._replace(written=Remembered.OFF) if self._environment.private else use

    def _working_tools(self, settings: Settings, window_tokens: int, permissions: Permissions) -> WorkingTools | None:
        environment = self._environment
        if not environment.works_in_folder:
            return None
        return WorkingTools(
            environment.cwd,
            settings,
            window_tokens,
            questions=environment.questions,
            plan=SessionPlan(self._recorder),
            commands=self.commands,
            sandbox=Sandbox(
                kind=settings.command_sandbox, folder=environment.cwd, home=Path.home(), paths=environment.paths
            ),
            user_skills=environment.paths.skills,
            mcp=self._mcp,
            permissions=permissions,
            read_only=environment.read_only,
        )

    def _instructions_with_board(self, settings: Settings, works: WorkingTools | None) -> str:
        """The instructions, followed by the board the session started with: the same in each of its requests."""
        board = self._recorder.state.board
        return "\n\n".join(filter(None, (self._instructions(settings, works), board.note if board else "")))

    def _instructions(self, settings: Settings, works: WorkingTools | None) -> str:
        if not works:
            return INSTRUCTIONS
        folder, read_only = path_text(self._environment.cwd), self._environment.read_only
        sandbox = "" if settings.command_sandbox == SANDBOX_OFF else sandbox_text(settings.command_sandbox)
        return working_instructions(folder, settings.command_timeout_s, sandbox=sandbox, read_only=read_only)

    def _summaries(self, model_handle: ModelHandle, settings: Settings) -> ModelSummaries:
        return ModelSummaries(
            model_handle,
            self.summary_models,
            settings.summarization_model,
            settings.compaction_timeout_s,
            self._environment.first_backoff_s,
            limits=self._environment.limits,
        )

    def _hooks(self, model_handle: ModelHandle, settings: Settings) -> Hooks:
        environment, commands = self._environment, settings.hooks.get(PRE_COMPACT, ())
        return Hooks(
            PRE_COMPACT,
            commands,
            environment.cwd,
            settings.hook_timeout_s,
            model_handle.asked.secrets,
            environment.environ,
        )

    async def _report_set_aside(self, created: CreatedProtected) -> None:
        await self._recorder.record(SessionError(what=created.sentence(), kind="sandbox", outcome="moved"))

    async def close(self) -> None:
        """Stop compactions and commands, and close the models opened for summaries and delegates."""
        await self.commands.close()
        await self.compactor.close()
        await self.summary_models.close()
        await self._roster.close()


def _for_git(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables git needs: where programs are, and whose configuration to read."""
    return {name: environ[name] for name in ("PATH", "HOME", "XDG_CONFIG_HOME") if name in environ}
