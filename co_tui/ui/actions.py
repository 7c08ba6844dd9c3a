"""What each command does. Answers that are text go into the chat as notes; they are not part of the session."""

from co_tui import settings
from co_tui.inert import one_line
from co_tui.paths import path_text
from co_tui.session.state.context_report import context_report
from co_tui.ui.formatting import told_cost
from co_tui.ui.rewrite_actions import NO_SESSION, RewriteActions
from co_tui.ui.themes import DARK, LIGHT

_OPENS_A_SCREEN = {"help", "sessions", "model", "rename", "resume", "rewind", "pin", "queue"}


class Actions(RewriteActions):
    """One method `do_NAME` for each command of the table."""

    async def do(self, name: str, arguments: str) -> None:
        if self._app.screen is not self._chat and name in _OPENS_A_SCREEN and not arguments:
            return  # one at a time: a key pressed twice must not stack them
        await self.attempt(name, getattr(self, f"do_{name}")(arguments))

    async def do_help(self, _: str) -> None:
        from co_tui.ui.screens.help import HelpScreen

        await self._app.push_screen(HelpScreen())

    async def do_side(self, _: str) -> None:
        self._chat.do_side()

    async def do_folds(self, _: str) -> None:
        self._chat.do_folds()

    async def do_find(self, text: str) -> None:
        await self._chat.do_find(text)

    async def do_theme(self, _: str) -> None:
        self._app.theme = LIGHT.name if self._app.current_theme.dark else DARK.name

    async def do_quit(self, _: str) -> None:
        await self._app.action_quit()

    async def do_new(self, _: str) -> None:
        """With the model and the policy of the session that is left."""
        self._control.keep_model()
        await self._control.switch_session("")

    async def do_queue(self, _: str) -> None:
        session = self._control.session
        if session is None or not session.waiting:
            self._say("No prompt waits.")
            return
        from co_tui.ui.screens.queue import QueueScreen

        await self._app.push_screen(QueueScreen(session), self._prompt_chosen)

    def _prompt_chosen(self, number: int | None) -> None:
        """A waiting prompt goes back into the prompt, to be edited."""
        session = self._control.session
        if number is not None and session is not None and (prompt := session.withdraw(number)) is not None:
            self._control.give_back(prompt)

    async def do_clear(self, _: str) -> None:
        if self._control.session is None or not self._control.session.state.history:
            self._say("The context is empty already.")
            return
        await self._control.session.clear()
        self._say("Context cleared: the model starts afresh. Everything above stays in the session.")

    async def do_history(self, _: str) -> None:
        state = self._control.state
        self._say(
            f"{state.turn} {'turn' if state.turn == 1 else 'turns'}. The model sees {len(state.history)} messages; "
            f"{len(state.transcript)} were said in all."
        )

    async def do_context(self, arguments: str) -> None:
        if arguments == "clear":
            await self.do_clear("")
            return
        if arguments:
            self._fail(f"/context takes nothing or `clear`, not {one_line(arguments, 40)!r}.")
            return
        figures = context_report(self._control.state)
        roles = "  ".join(f"{role} {count}" for role, count in figures["roles"].items()) or "none"
        assumed = "" if figures["limit_known"] else " (assumed)"
        measured = "counted by the provider" if figures["measured"] == "provider" else "estimated"
        self._say(
            f"context       {figures['current_tokens']:,} of {figures['token_limit']:,} tokens{assumed}, "
            f"{figures['share']:.0%}, {measured}\n"
            f"system        {figures['system_tokens']:,}\n"
            f"tools         {figures['tool_definition_tokens']:,}\n"
            f"conversation  {figures['conversation_tokens']:,}\n"
            f"messages      {figures['messages_count']}  ({roles})\n"
            f"characters    {figures['characters']:,}\n"
            f"cost          {told_cost(figures['cost'], figures['summary_cost'])}"
        )

    async def do_config(self, arguments: str) -> None:
        launch = self._app.launch
        key, _, value = arguments.partition(" ")
        if not key:
            width = max(map(len, launch.loaded.origins))
            idle = settings.unused(launch.settings)
            rows = (
                f"{name.ljust(width)}  {str(origin.value) or '(empty)':<12} {origin.source}"
                + (f"; {idle[name]}" if name in idle else "")
                for name, origin in launch.loaded.origins.items()
            )
            self._say("\n".join(rows))
        elif key not in launch.loaded.origins:
            self._fail(settings.unknown_key(key))
        elif not value:
            origin = launch.loaded.origins[key]
            reason = settings.unused(launch.settings).get(key)
            why = f"; {reason}" if reason else ""
            self._say(f"{key} = {str(origin.value) or '(empty)'}   from {origin.source}{why}")
        else:
            await self._set(key, value.strip())

    async def _set(self, key: str, value: str) -> None:
        launch = self._app.launch
        try:
            kept = settings.write(key, value, launch.paths, launch.settings)
        except settings.SettingsError as error:
            self._fail(str(error))
            return
        changed = launch.reloaded()
        for problem in changed.problems:
            self._fail(problem)
        holds = await self._control.apply_settings(key, changed)
        if key == "theme":
            self._app.apply_theme(changed.settings.theme)
            holds = "from now on"
        caveat = settings.caveat(key, changed, launch.paths)
        self._say(f"{key} = {kept} written to {launch.paths.config_file}." + (caveat or f" It holds {holds}."))

    async def do_model(self, name: str) -> None:
        if name:
            await self._switch_model(name)
            return
        from co_tui.ui.screens.models import ModelScreen

        present = self._control.state.model or self._app.launch.choice.model
        await self._app.push_screen(ModelScreen(self._app.launch.environ, present), self._model_chosen)

    def _model_chosen(self, name: str | None) -> None:
        if name:
            self._app.call_later(self._app.run_command, "model", name)

    async def _switch_model(self, name: str, *, compact: bool = False) -> None:
        if not self._control.backend.ready:
            self._fail("The engine is still loading; choose the model again in a moment.")
            return
        from co_tui.agent.errors import ModelUnusable
        from co_tui.session.compaction.compactor import CompactionRefused
        from co_tui.session.runtime_switcher import WindowTooSmall

        try:
            if self._control.session is not None:
                await self._control.session.switch_model(name, compact=compact)
            else:
                await self._control.choose_model(name)
        except WindowTooSmall as small:
            await self._ask_to_compact(name, str(small))
        except (ModelUnusable, CompactionRefused) as error:
            self._fail(str(error))
            self._chat.set_busy(self._control.session is not None and self._control.session.busy)
        else:
            self._say(f"{one_line(name, 60)} answers from now on.")

    async def _ask_to_compact(self, name: str, why: str) -> None:
        from co_tui.ui.screens.question import ConfirmScreen

        def answered(yes: bool | None) -> None:
            if yes:
                self._later("model", self._switch_model(name, compact=True))

        await self._app.push_screen(ConfirmScreen(f"{why} Compact now, then switch?"), answered)

    async def do_policy(self, name: str) -> None:
        launch = self._app.launch
        if not name:
            present = launch.settings.policy
            numbers = "\n".join(
                f"  {key} = {origin.value}"
                for key, origin in launch.loaded.origins.items()
                if origin.source == f"policy {present}"
            )
            names = ", ".join(settings.policy_names(launch.paths))
            self._say(f"Policy {present}:\n{numbers}\nAll policies: {names}. /policy NAME chooses one.")
            return
        changed = settings.load(
            paths=launch.paths, cwd=launch.cwd, environ=launch.environ, command_line={"policy": name}
        )
        if changed.problems:
            self._fail(" ".join(changed.problems))
            return
        await self._control.choose_policy(changed)
        self._say(f"Policy {name} governs the context from now on.")

    async def do_sessions(self, _: str) -> None:
        from co_tui.ui.screens.sessions import SessionsScreen

        launch = self._app.launch
        screen = SessionsScreen(launch.store, path_text(launch.cwd), self._control.session_id)
        await self._app.push_screen(screen, self._session_chosen)

    def _session_chosen(self, session_id: str | None) -> None:
        if session_id:
            self._app.call_later(self._app.run_command, "resume", session_id)

    async def do_resume(self, name: str) -> None:
        if not name:
            await self.do_sessions("")
            return
        with self._app.launch.store.reading() as reading:
            row = reading.session(name)
        if row.id == self._control.session_id:
            self._say("That session is open already.")
            return
        await self._control.switch_session(row.id)

    async def do_rename(self, title: str) -> None:
        session = self._control.session
        if session is None:
            self._fail(NO_SESSION)
        elif title:
            await session.rename(one_line(title, 200))
        else:
            from co_tui.ui.screens.question import AskScreen

            await self._app.push_screen(AskScreen("Name of this session", session.state.title), self._title_given)

    def _title_given(self, title: str | None) -> None:
        if title and title.strip():
            self._app.call_later(self._app.run_command, "rename", title.strip())
