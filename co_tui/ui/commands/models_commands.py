"""Commands that choose the model, and enter the key it needs."""

import asyncio
from functools import partial

from co_tui.agent.keys.kept_keys import KeptKeys, KeyUnavailable, key_sources
from co_tui.agent.keys.key_servers import KeyOwner, key_owner, key_owners, unknown_provider
from co_tui.agent.wire.model_errors import KeyMissing
from co_tui.events.model_names import EXAMPLE_MODEL, served
from co_tui.inert import one_line
from co_tui.session.slash.command_host import CommandFailed
from co_tui.session.slash.models_commands import switch_model
from co_tui.ui.background import start_awaited
from co_tui.ui.commands.host import CommandHost, command
from co_tui.ui.heavy_imports import import_locked
from co_tui.ui.models.login_screen import KeyScreen, LoginAnswer, LoginScreen, ProviderKey
from co_tui.ui.models.model_list import RecentModels
from co_tui.ui.models.models_screen import ModelScreen, ModelsKnown


@command("model")
async def model(host: CommandHost, name: str) -> None:
    if name:
        await _switch(host, name)
    elif chosen := await _chosen(host):
        host.run("model", chosen)


async def use_configured(host: CommandHost) -> bool:
    """Let the configured model answer in the example session, asking as for every switch; False if it does not."""
    try:
        await _switch(host, host.launch.choice.model)
    except CommandFailed as failed:
        host.fail(str(failed))
    return host.opened().state.model != EXAMPLE_MODEL


@command("fetch")
async def fetch(host: CommandHost, _: str) -> None:
    if host.embedded_model.is_installed:
        host.say("The embedded model is already installed.")
    else:
        host.embedded_model.fetch()


async def _chosen(host: CommandHost) -> str:
    launch = host.launch
    present = host.state.model or launch.choice.model
    known = ModelsKnown(
        environ=launch.environ,
        present=present,
        recent=RecentModels(launch.paths).read(),
        base_url=launch.settings.base_url,
        keys=KeptKeys(launch.paths),
    )
    chosen = await host.ask(lambda: ModelScreen(known)) or ""
    owner = _owner_of(host, present)
    is_usable = owner is None or not owner.lost_its_key(launch.environ)
    return "" if chosen == present and host.session is not None and is_usable else chosen


def _owner_of(host: CommandHost, model: str) -> KeyOwner | None:
    """Whose key a model needs; None if it needs none, or runs on a server of its own."""
    owner = key_owner(model.partition(":")[0], host.launch.environ, host.launch.settings.base_url)
    at = served(model)
    has_own_server = at is not None and at.address.rstrip("/") not in ("", owner.address.rstrip("/") if owner else "")
    return None if has_own_server else owner


async def _switch(host: CommandHost, name: str) -> None:
    """Use a model, and ask for its key if that is missing."""
    if not host.is_ready:
        raise CommandFailed("Still starting. Choose the model again in a moment.")
    owner, launch = _owner_of(host, name), host.launch
    if owner is not None and owner.lost_its_key(launch.environ) and KeptKeys(launch.paths).find(owner) is None:
        await _enter_key_for(host, name, f"{owner.host} refused the key of {owner.provider}.")
        return
    try:
        await switch_model(host, name)
    except KeyMissing as missing:
        await _enter_key_for(host, name, str(missing))


async def _enter_key_for(host: CommandHost, model: str, why: str) -> None:
    """Ask for the key that a model needs, then switch to it."""
    owner = _owner_of(host, model)
    # Importing a provider takes seconds, while the user enters the key.
    importing = start_awaited(asyncio.to_thread(import_locked, partial(_import_provider, model)))
    if owner is None:
        host.fail(why)
    elif await _enter_key(host, owner):
        await importing
        await _switch(host, model)
        return
    else:
        host.say(f"{one_line(model, 60)} needs a key. The model is unchanged.")
    host.show_busy()


def _import_provider(model: str) -> None:
    from co_tui.agent.models.open_model import preload

    preload(model)


@command("login")
async def login(host: CommandHost, provider: str) -> None:
    launch = host.launch
    remove = False
    if not provider:
        answer = await _chosen_login(host)
        if answer is None:
            return
        provider, remove = answer
    if " " in provider:
        host.fail("/login takes a provider only. It then asks for the key.")
        return
    owner = key_owner(provider, launch.environ, launch.settings.base_url)
    if owner is None:
        host.fail(unknown_provider(one_line(provider, 40)))
    elif remove:
        await _remove_key(host, owner)
    elif await _enter_key(host, owner):
        present = host.state.model or launch.choice.model
        if not present.startswith(owner.provider):
            host.say("/model chooses one of its models.")
        elif host.session is not None and _owner_of(host, present) == owner:
            await _switch(host, present)  # with the new key


async def _chosen_login(host: CommandHost) -> "LoginAnswer | None":
    launch = host.launch
    kept = KeptKeys(launch.paths)
    sources = dict(key_sources(kept, launch.environ))
    rows = [
        ProviderKey(owner.provider, sources.get(owner.provider, ""), kept.find(owner) is not None)
        for owner in key_owners(launch.environ)
    ]
    return await host.ask(lambda: LoginScreen(rows))


async def _enter_key(host: CommandHost, owner: KeyOwner) -> bool:
    """Ask for a key until it is accepted; False when the user goes back."""
    if not host.is_ready:
        host.fail("Still starting. Try again in a moment.")
        return False
    from co_tui.agent.keys.login import log_in

    launch = host.launch
    keep = partial(log_in, KeptKeys(launch.paths), owner, environ=launch.environ, replaces=True)
    outcome = await host.ask(lambda: KeyScreen(owner.provider, owner.host, keep))
    if not outcome:
        return False
    host.say(outcome)
    if host.session is None:  # the key may decide which model is used, or let it open
        await host.sessions.backend.warm_again(host.launch.choice.model)
        host.settings.show()
    return True


async def _remove_key(host: CommandHost, owner: KeyOwner) -> None:
    kept = KeptKeys(host.launch.paths)
    found = kept.find(owner)
    if found is None or not await host.confirm(
        f"Remove the key of {owner.provider} from {kept.place_of(found.place)}?"
    ):
        return
    try:
        await asyncio.to_thread(kept.remove, found)
    except KeyUnavailable as why:
        host.fail(str(why))
    except OSError as error:
        host.fail(f"Cannot remove the key from {kept.file}: {error.strerror or type(error).__name__}.")
    else:
        host.say(f"The key of {owner.provider} is removed.")
