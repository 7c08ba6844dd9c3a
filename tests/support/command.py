"""Running `co-tui` as a person or a script does: in a process of its own."""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import MutableMapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.support.loaded import LoadedProcess, LoadedProcesses
from tests.support.waiting import PATIENCE_S

_KEYS = ("OPENAI", "ANTHROPIC", "GOOGLE", "GEMINI", "CO_TUI", "OLLAMA", "GROQ", "MISTRAL", "OPENROUTER")
_SIZE = ("COLUMNS", "LINES")
"""A size the test runner may have been told, which is not the terminal's."""


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


class CliCommand:
    """`co-tui` with a home and an environment of its own."""

    def __init__(self, home: Path, cwd: Path, loaded: LoadedProcesses | None = None) -> None:
        self.home = home
        self.cwd = cwd
        self._loaded = loaded
        self.environ: MutableMapping[str, str] = {
            name: value for name, value in os.environ.items() if not name.startswith(_KEYS + _SIZE)
        }
        self.environ["CO_TUI_HOME"] = str(home)

    @property
    def database(self) -> Path:
        return self.home / "data" / "co-tui.db"

    def has_half_a_reply(self) -> bool:
        """Whether part of a streamed reply is saved; its first word makes it so."""
        with closing(sqlite3.connect(self.database)) as connection:
            return bool(connection.execute("SELECT count(*) FROM drafts WHERE slot = 'reply'").fetchone()[0])

    def __call__(self, *arguments: str, stdin: str = "") -> Result:
        """To its end, in a process with its libraries loaded already."""
        with tempfile.TemporaryFile("w+", encoding="utf-8") as given:
            given.write(stdin)
            given.seek(0)
            process = self.fork((given, None, None), *arguments)
        out, err = process.communicate(PATIENCE_S)
        return Result(process.wait(), out, err)

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """From nothing, as a shell does it."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command = [sys.executable, "-m", "co_tui", *arguments]
        return subprocess.Popen(command, text=True, env=self.environ, cwd=self.cwd, **(streams | options))

    def start_loaded(self, *arguments: str, stdout: IO[str] | None = None, **how: Any) -> LoadedProcess:
        """With its libraries loaded already, for what happens after that."""
        with open(os.devnull) as nothing:
            return self.fork((nothing, stdout, None), *arguments, **how)

    def fork(self, streams: Sequence[int | IO[Any] | None], *arguments: str, **how: Any) -> LoadedProcess:
        """The same with these as its standard streams; None is a pipe."""
        assert self._loaded is not None, "needs the fixture that ends what they are forked from"
        given = {"environ": dict(self.environ), "cwd": str(self.cwd)}
        return self._loaded.start(streams, arguments, **(given | how))
