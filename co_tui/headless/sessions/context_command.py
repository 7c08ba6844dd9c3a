"""`co-tui context`: what the next request takes, by kind, and the limit. The log mostly knows; no model is loaded."""

from typing import Any

from co_tui.context.policy import policy_of
from co_tui.events.wording import percent
from co_tui.headless.output import DONE, CommandContext, put, put_json, table
from co_tui.headless.sessions.show_command import load_state
from co_tui.session.lens.model_thresholds import HEADER, thresholds_by_model
from co_tui.session.slash.reports_commands import limit_note, not_sent, session_cost
from co_tui.session.state.context_report import context_report
from co_tui.session.state.session_state import SessionState
from co_tui.settings import Settings


def show_context(context: CommandContext, name: str, *, as_json: bool) -> int:
    """Tokens by kind and the limit, as last measured."""
    state = load_state(context, name)
    figures = context_report(_measured(context, state))
    if as_json:
        put_json({"session_id": state.session_id, **figures})
    else:
        _print(figures)
    return DONE


def show_models(settings: Settings, *, as_json: bool) -> int:
    """Each known model's window, and where the policy in force compacts in it."""
    rows = thresholds_by_model(policy_of(settings), settings.context_window)
    if as_json:
        for row in rows:
            put_json({"policy": settings.policy, **row.as_json()})
    else:
        put(table(HEADER, (row.cells() for row in rows)))
        put(f"\nPolicy {settings.policy}: where it compacts the conversation, and a delegate's own steps.")
    return DONE


def _measured(context: CommandContext, state: SessionState) -> SessionState:
    """What came since the last measurement, as in an imported or killed session, is measured as a request would be; so
    is what has another window by now, or will be restored only in part when the session is opened again."""
    if imposed := context.loaded.overriding_model:
        state = state.but(model=imposed)
    if not state.history or _holds(state, context.loaded.settings):
        return state
    from co_tui.headless.sessions.lens_command import stored_source_of
    from co_tui.session.lens.snapshot import read_lens

    source = stored_source_of(context, state)
    reading = read_lens(source).reading
    return source.state.but(usage=reading.as_fact(is_initial=state.usage is None, model=state.model))


def _holds(state: SessionState, settings: Settings) -> bool:
    """Whether the last measurement is that of the next request."""
    usage = state.usage
    if usage is None or not state.usage_holds or usage.model != state.model:
        return False
    is_same_window = settings.context_window in (0, usage.token_limit)
    return is_same_window and not policy_of(settings).restores_texts_only


def _print(figures: dict[str, Any]) -> None:
    limit = f"{figures['token_limit']:,}{limit_note(figures)}"
    mark = "" if figures["measured"] == "provider" else "~"
    rows = (
        ("system", f"{figures['system_tokens']:,}"),
        ("tools", f"{figures['tool_definition_tokens']:,}"),
        ("conversation", f"{figures['conversation_tokens']:,}"),
        ("all", f"{mark}{figures['current_tokens']:,} of {limit} ({percent(figures['share'])})"),
    )
    put(table(("KIND", "TOKENS"), rows))
    roles = ", ".join(f"{count} {role}" for role, count in figures["roles"].items()) or "none"
    count = f"{figures['messages_count']} messages ({roles}){not_sent(figures)}"
    put(f"\n{count}, {figures['characters']:,} characters")
    put(f"cost {session_cost(figures)}")
