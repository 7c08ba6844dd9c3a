"""What an editor may choose for a session: mode, model and policy."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from acp.schema import (
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from co_tui.agent.keys.kept_keys import KeptKeys
from co_tui.agent.models.catalogue import EMBEDDED, PROVIDERS
from co_tui.events.model_names import model_name
from co_tui.events.wording import MODE_SENTENCES
from co_tui.headless.output import CommandContext
from co_tui.settings import Settings, policy_description, policy_label, policy_names

MODE, MODEL, POLICY = "mode", "model", "policy"
ConfigOption: TypeAlias = SessionConfigOptionSelect | SessionConfigOptionBoolean


def mode_state(current: str, modes: Sequence[str]) -> SessionModeState:
    offered = [SessionMode(id=mode, name=mode, description=MODE_SENTENCES[mode]) for mode in modes]
    return SessionModeState(current_mode_id=current, available_modes=offered)


def config_options(
    context: CommandContext,
    environ: Mapping[str, str],
    current: Settings,
    model: str,
    mode: str,
    modes: Sequence[str],
) -> list[ConfigOption]:
    """Every option with its present value."""
    names = policy_names(context.paths)
    policy = current.policy
    return [
        _select(MODE, "Mode", mode, [(each, each, MODE_SENTENCES[each]) for each in modes], category="mode"),
        _select(
            MODEL,
            "Model",
            model,
            [(each, model_name(each), "") for each in _models(context, environ, current, model)],
            category="model",
        ),
        _select(
            POLICY,
            "Context policy",
            policy,
            [(name, policy_label(name), policy_description(name, context.paths)) for name in _with(policy, names)],
        ),
    ]


def _models(context: CommandContext, environ: Mapping[str, str], current: Settings, model: str) -> list[str]:
    """The present model, the configured one, the default of each provider with a key, and the embedded one."""
    kept = KeptKeys(context.paths).providers(environ, current.base_url)
    usable = [
        f"{provider.prefix}:{provider.default_model}"
        for provider in PROVIDERS
        if provider.default_model and provider.needs_key and (provider.has_key(environ) or provider.prefix in kept)
    ]
    return list(dict.fromkeys(filter(None, (model, current.model, *usable, EMBEDDED))))


def _with(present: str, names: Sequence[str]) -> Sequence[str]:
    return names if present in names else (present, *names)


def _select(
    id: str,
    name: str,
    current: str,
    choices: Iterable[tuple[str, str, str]],
    category: Literal["mode", "model"] | None = None,
) -> SessionConfigOptionSelect:
    options = [
        SessionConfigSelectOption(value=value, name=label, description=description or None)
        for value, label, description in choices
    ]
    return SessionConfigOptionSelect(
        type="select", id=id, name=name, current_value=current, options=options, category=category
    )
