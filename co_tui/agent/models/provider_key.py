"""The key of a provider: from the environment, else as `co-tui login` kept it."""

import asyncio
from typing import NamedTuple

from co_tui.agent.keys.kept_keys import KeyUnavailable
from co_tui.agent.keys.key_servers import KeyOwner, host_of, key_owner
from co_tui.agent.models.model_handle import ModelConfig
from co_tui.agent.redact import redact
from co_tui.agent.wire.model_errors import KeyMissing, ModelUnusable


class FoundKey(NamedTuple):
    """A key, and where it comes from."""

    key: str = ""
    source: str = ""
    """A variable, or where it is kept, in words."""
    host: str = ""
    """The only host a kept key may be sent to; empty for one of the environment."""

    def require_host(self, model: str, address: str) -> None:
        """Refuse to send a kept key to another host than it was entered for. Raises `ModelUnusable`."""
        if self.host and host_of(address) != self.host:
            raise ModelUnusable(
                f"{model} is at {redact(host_of(address)) or 'an unknown address'}, but the kept key is for "
                f"{self.host}. Set the key in the environment instead."
            )


async def find_key(owner: KeyOwner, config: ModelConfig) -> FoundKey:
    """An owner's key; empty when there is none. Raises `ModelUnusable` when a kept one cannot be read."""
    if key := owner.key_in(config.environ):
        return FoundKey(key, next(name for name in owner.variables if config.environ.get(name)))
    kept = config.keys.find(owner) if config.keys is not None else None
    if kept is None or config.keys is None:
        return FoundKey()
    try:
        key = await asyncio.to_thread(config.keys.read, owner)
    except KeyUnavailable as why:
        raise ModelUnusable(str(why)) from None
    return FoundKey(key, config.keys.place_of(kept.place), owner.host)


async def provider_key(model: str, config: ModelConfig) -> FoundKey:
    """The key that a provider's model needs; empty when it needs none. Raises `KeyMissing` or `ModelUnusable`."""
    prefix = model.partition(":")[0]
    owner = key_owner(prefix, config.environ)
    if owner is None:
        return FoundKey()
    found = await find_key(owner, config)
    if not found.key:
        variables = " or ".join(owner.variables)
        raise KeyMissing(
            f"{model} needs a key. Run `co-tui login {owner.provider}`, start co-tui with {variables} set, or choose "
            "another model with /model or --model."
        )
    return found
