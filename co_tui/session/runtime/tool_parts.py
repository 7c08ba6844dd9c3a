"""The tools of a session: what each runtime offers, what it allows, and the instructions that go with them."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from pydantic_ai.toolsets import AbstractToolset

from co_tui.agent.models.catalogue import EMBEDDED
from co_tui.agent.permissions.sandbox import sandbox_text
from co_tui.agent.tool_names import OWN_TOOLS
from co_tui.agent.toolkit import EMBEDDED_INSTRUCTIONS, INSTRUCTIONS, Toolkit, working_instructions
from co_tui.context.measure.count import Scaffold
from co_tui.session.approvals.permissions import Permissions
from co_tui.session.approvals.questions import Questions
from co_tui.session.compaction.compaction_files import Remembered
from co_tui.session.environment import Environment
from co_tui.session.history.governed_history import GovernedHistory, PredictScaffold
from co_tui.session.hooks.call_hooks import SessionCallHooks
from co_tui.session.hooks.session_hooks import SessionHooks
from co_tui.session.recorder import Recorder
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.runtime.surroundings import surroundings_text
from co_tui.session.runtime.transfers import Transfers
from co_tui.session.snapshots.session_files import SessionFiles
from co_tui.session.tools.after_edit import Checking
from co_tui.session.tools.command_reports import CommandReports
from co_tui.session.tools.folder.seen_files import SeenFiles
from co_tui.session.tools.kept_output import KeptOutputs
from co_tui.session.tools.mcp_tools import McpTools
from co_tui.session.tools.own_tools import MemoryUse, OwnTools, memory_use
from co_tui.session.tools.page_cache import PageCache
from co_tui.session.tools.session_plan import SessionPlan
from co_tui.session.tools.working_tools import WorkingTools, tools_for_window
from co_tui.session.turns.reply_limits import CutReplies, ReplyRoom
from co_tui.session.workplace.session_workplace import SessionParts
from co_tui.settings import Settings, instructions_in_force, own_skill_folders
from co_tui.settings.rules import SANDBOX_OFF


class ToolParts:
    """One for a session, shared by its runtimes."""

    def __init__(
        self,
        environment: Environment,
        recorder: Recorder,
        own: OwnTools,
        outputs: KeptOutputs,
        transfers: Transfers,
        hooks: SessionHooks,
        questions: Questions,
    ) -> None:
        """`own` are the tools for the session itself, `outputs` keeps what is too long for a result; `transfers` hands
        the conversation to other agents."""
        self._environment = environment
        self._recorder = recorder
        self._own = own
        self._transfers = transfers
        self.call_hooks = SessionCallHooks(hooks, environment.cwd)
        self._questions = questions
        self._mcp = McpTools(environment.mcp_servers, recorder, outputs, environment.cwd, environment.environ)
        parts = (recorder, environment.paths, environment.environ, environment.store, environment.questions)
        self.workplace = environment.workplace.for_session(SessionParts(*parts))
        """Where the tools work."""
        own_folder = environment.paths.session(recorder.session_id)
        self._seen = SeenFiles(lambda: recorder.state)
        session_changed = environment.files.session_changed(recorder.session_id)
        self._pages = PageCache(None if environment.private else own_folder, session_changed)
        self.commands = self.workplace.commands
        """The model's running commands."""
        self.commands.outputs = outputs
        keeps = environment.works_in_folder and not (environment.private or environment.read_only)
        self.files = SessionFiles(recorder, self.workplace.snapshots, keeps=keeps)
        """The session's changes to files, and how to bring files back."""
        self.files.outcomes.background = self.commands.in_background
        self._checking = Checking({}, self.files.around)
        self.reports = CommandReports(recorder, hooks.notes)
        self.commands.report, self.commands.tell = self.reports.set_aside, self.reports.news
        self.commands.report_unsandboxed = self.reports.unsandboxed

    def permissions(self, settings: Settings) -> Permissions:
        environment = self._environment
        return Permissions(
            self.workplace.judge(environment.mcp_servers.is_read_only),
            self._recorder,
            settings.permissions,
            environment.kept_approvals,
            sandbox=settings.command_sandbox,
            asks_first=environment.asks_first,
            secret_files=(environment.paths.keys_file, environment.paths.machine_key),
            at_home=environment.workplace.at_home,
        )

    def working(self, settings: Settings, window_tokens: int, permissions: Permissions) -> WorkingTools | None:
        environment = self._environment
        if not environment.works_in_folder:
            return None
        return WorkingTools(
            self.workplace,
            settings,
            window_tokens,
            questions=self._questions,
            plan=SessionPlan(self._recorder),
            own_skills=own_skill_folders(environment.paths, settings),
            instructions=partial(instructions_in_force, environment.paths, environment.cwd, settings),
            mcp=self._mcp,
            pages=self._pages,
            seen=self._seen,
            keys=self._recorder.keys,
            permissions=permissions,
            checking=self._checking,
            read_only=environment.read_only,
            wrap_folder=environment.wrap_folder,
        )

    def instructions(self, model: str, settings: Settings, works: WorkingTools | None) -> str:
        """The instructions, then date, platform and board as the session started: the same in each of its requests."""
        more, own = self._environment.more_instructions, self._environment.own_instructions
        if model == EMBEDDED:
            return "\n\n".join(filter(None, (own or EMBEDDED_INSTRUCTIONS, more)))
        state = self._recorder.state
        where = surroundings_text(state.began_in) if works else ""
        board = state.board.note if state.board else ""
        return "\n\n".join(filter(None, (own or self._instructions(settings, works), where, board, more)))

    def _instructions(self, settings: Settings, works: WorkingTools | None) -> str:
        if not works:
            return INSTRUCTIONS
        folder, read_only = self.workplace.folder_text, self._environment.read_only
        sandbox = "" if settings.command_sandbox == SANDBOX_OFF else sandbox_text(settings.command_sandbox)
        return working_instructions(folder, settings.command_timeout_s, sandbox=sandbox, read_only=read_only)

    def toolkit(
        self, history: GovernedHistory, works: WorkingTools | None, settings: Settings, permissions: Permissions
    ) -> Toolkit:
        environment, memory = self._environment, self._memory_use(settings)

        def own() -> Sequence[AbstractToolset[Any]]:
            transfer = self._transfers.toolset() if works and works.delegates else None
            return self._own.with_own(
                (*environment.toolsets, *([transfer] if transfer else ())),
                history,
                memory=memory,
                works=bool(works),
                runs_commands=works is not None and works.runs_commands,
            )

        capabilities = (CutReplies(self._recorder), *environment.capabilities)
        before_sending = (ReplyRoom(self._recorder),)
        if not works:
            return Toolkit(own, capabilities, permissions.verdict, before_sending=before_sending, hooks=self.call_hooks)

        delegates = partial(self._transfers.roster.read, settings) if works.delegates else None
        capabilities = (*capabilities, *works.capabilities())
        hooks, around = self.call_hooks, self.files.around_call
        return Toolkit(own, capabilities, permissions.verdict, works.what, delegates, before_sending, hooks, around)

    def predict(self, history: GovernedHistory, settings: Settings) -> PredictScaffold:
        """Predicts the scaffold of the history's next turn."""
        return partial(self._own.predicted_scaffold, history, self._memory_use(settings))

    def _memory_use(self, settings: Settings) -> MemoryUse:
        use = memory_use(settings)
        return use._replace(written=Remembered.OFF) if self._environment.private else use

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
