"""Commands that choose the model, and enter the key it needs."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from co_tui.agent.keys.kept_keys import KeptKeys, KeyUnavailable, key_sources
from co_tui.agent.keys.key_servers import KeyOwner, key_owner, key_owners, unknown_provider
from co_tui.events.model_names import short_name
from co_tui.inert import one_line
from co_tui.ui.background import start_awaited
from co_tui.ui.commands.host import CommandHost
from co_tui.ui.commands.registry import command
from co_tui.ui.heavy_imports import import_locked
from co_tui.ui.models.model_list import RecentModels

if TYPE_CHECKING:
    from co_tui.ui.models.login_screen import LoginAnswer


@command("model")
async def model(host: CommandHost, name: str) -> None:
    if name:
        await _switch(host, name)
    elif chosen := await _chosen(host):
        host.run("model", chosen)


@command("fetch")
async def fetch(host: CommandHost, _: str) -> None:
    if host.embedded_model.is_installed:
        host.say("The embedded model is already installed.")
    else:
        host.embedded_model.fetch()


async def _chosen(host: CommandHost) -> str:
    from co_tui.ui.models.models_screen import ModelScreen, ModelsKnown

    launch = host.settings.launch
    present = host.state.model or launch.choice.model
    known = ModelsKnown(
        environ=launch.environ,
        present=present,
        recent=RecentModels(launch.paths).read(),
        base_url=launch.settings.base_url,
        keys=KeptKeys(launch.paths),
    )
    chosen = await host.ask(lambda: ModelScreen(known)) or ""
    return "" if chosen == present and host.session is not None else chosen


async def _switch(host: CommandHost, name: str, *, compact: bool = False) -> None:
    if not host.sessions.backend.ready:
        host.fail("Still starting. Choose the model again in a moment.")
        return
    from co_tui.agent.wire.model_errors import KeyMissing, ModelUnusable
    from co_tui.session.compaction.compactor import CompactionRefused
    from co_tui.session.runtime.runtime_switcher import WindowTooSmall

    try:
        if host.session is not None:
            await host.session.switcher.switch_model(name, compact=compact)
        else:
            await host.sessions.choose_model(name)
    except WindowTooSmall as small:
        if await host.confirm(f"{small} Compact now, then switch?"):
            await _switch(host, name, compact=True)
    except KeyMissing as missing:
        await _enter_key_for(host, name, str(missing))
    except (ModelUnusable, CompactionRefused) as error:
        host.fail(str(error))
        host.show_busy()
    else:
        RecentModels(host.settings.launch.paths).note(name)
        host.say(f"Now using {one_line(short_name(name), 60)}.")


async def _enter_key_for(host: CommandHost, model: str, why: str) -> None:
    """Ask for the key that a model needs, then switch to it."""
    launch = host.settings.launch
    owner = key_owner(model.partition(":")[0], launch.environ)
    # Importing a provider takes seconds; meanwhile the user enters the key.
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
    launch = host.settings.launch
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
    elif await _enter_key(host, owner) and not (host.state.model or launch.choice.model).startswith(owner.provider):
        host.say("/model chooses one of its models.")


async def _chosen_login(host: CommandHost) -> "LoginAnswer | None":
    from co_tui.ui.models.login_screen import LoginScreen, ProviderKey

    launch = host.settings.launch
    kept = KeptKeys(launch.paths)
    sources = dict(key_sources(kept, launch.environ))
    rows = [
        ProviderKey(owner.provider, sources.get(owner.provider, ""), kept.find(owner) is not None)
        for owner in key_owners(launch.environ)
    ]
    return await host.ask(lambda: LoginScreen(rows))


async def _enter_key(host: CommandHost, owner: KeyOwner) -> bool:
    """Ask for a key until it is accepted; False when the user goes back."""
    if not host.sessions.backend.ready:
        host.fail("Still starting. Try again in a moment.")
        return False
    from co_tui.agent.keys.login import log_in
    from co_tui.ui.models.key_screen import KeyScreen

    launch = host.settings.launch
    keep = partial(log_in, KeptKeys(launch.paths), owner, environ=launch.environ)
    outcome = await host.ask(lambda: KeyScreen(owner.provider, owner.host, keep))
    if not outcome:
        return False
    host.say(outcome)
    if host.session is None:  # the key may decide which model is used, or let it open
        await host.sessions.backend.warm_again(host.settings.launch.choice.model)
        host.settings.show()
    return True


async def _remove_key(host: CommandHost, owner: KeyOwner) -> None:
    kept = KeptKeys(host.settings.launch.paths)
    found = kept.find(owner)
    if found is None or not await host.confirm(
        f"Remove the key of {owner.provider} from {kept.place_of(found.place)}?"
    ):
        return
    try:
        await asyncio.to_thread(kept.remove, found)
    except KeyUnavailable as why:
        host.fail(str(why))
    else:
        host.say(f"The key of {owner.provider} is removed.")
