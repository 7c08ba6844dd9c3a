"""`python -m tests.acp_clients SDK`: check `co-tui acp` with the npm SDK's client, and both exchanges with its schema.

SDK is the folder of the npm package: `npm install @agentclientprotocol/sdk` puts it into
`node_modules/@agentclientprotocol/sdk`. Needs node.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tests.headless.acp.exchange import Exchanged, named
from tests.headless.acp.whole_exchange import ASK, PLAN, WRITE, whole_exchange
from tests.support.command import CliCommand
from tests.support.fixtures import provider_environ
from tests.support.loaded import LoadedProcesses
from tests.support.provider import Provider, Reply

SCRIPT = Path(__file__).parent / "headless" / "acp" / "npm_client.mjs"
SCHEMAS = ("schema/v1/schema.json", "schema/v1/schema.unstable.json")
"""The second has what is not stable yet, such as forks."""


def check(exchange: Sequence[Exchanged], schema: Any) -> Counter[str]:
    """How many messages of each kind are valid; kinds that the schema does not have are counted as unknown."""
    counts: Counter[str] = Counter()
    for name, value in named(exchange):
        if name not in schema["$defs"]:
            counts[f"unknown {name}"] += 1
            continue
        whole = {"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]}
        Draft202012Validator(whole).validate(value)
        counts[name] += 1
    return counts


def npm_exchange(sdk: Path, command: CliCommand, provider: Provider) -> list[Exchanged]:
    """What the npm SDK's client and co-tui say to each other."""
    provider.script = [
        Reply(text="First.", tools=(PLAN, WRITE)),
        Reply(text="", tool=ASK),
        Reply(text="All done."),
        Reply(text="", tool=("write_file", json.dumps({"path": "b.txt", "content": "two\n"}))),
        Reply(text="Forked."),
    ]
    record = command.cwd / "exchange.jsonl"
    program = (sys.executable, "-m", "co_tui", "acp")
    arguments = ("node", str(SCRIPT), str(sdk), str(command.cwd), str(record), *program)
    subprocess.run(arguments, env=dict(command.environ), check=True)
    return [Exchanged(**json.loads(line)) for line in record.read_text().splitlines()]


def served(folder: Path, provider: Provider, loaded: LoadedProcesses | None = None) -> CliCommand:
    home, cwd = folder / "home", folder / "work"
    home.mkdir(parents=True)
    cwd.mkdir()
    command = CliCommand(home, cwd, loaded)
    command.environ |= provider_environ(provider) | {"CO_TUI_CONTEXT_WINDOW": "60000"}
    return command


def main(sdk: Path) -> None:
    schemas = {name: json.loads((sdk / name).read_text()) for name in SCHEMAS}
    with tempfile.TemporaryDirectory() as made:
        loaded = LoadedProcesses()
        with Provider().serving() as provider:
            editor = asyncio.run(whole_exchange(served(Path(made, "python"), provider, loaded), provider))
        loaded.close()
        with Provider().serving() as provider:
            ours = npm_exchange(sdk, served(Path(made, "npm"), provider), provider)
    for name, schema in schemas.items():
        for client, exchange in (("Python SDK", editor.exchange), ("npm SDK", ours)):
            counts = check(exchange, schema)
            print(f"{client}, {name}: {counts.total()} messages")
            print("  " + ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items())))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
