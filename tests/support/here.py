"""The command line in this process, which is quicker than one of its own by what there is to load."""

import io
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from unittest import mock

from co_tui import cli
from tests.support.command import CliCommand, Result


class Here(CliCommand):
    """`co-tui` as a function of its arguments; the folder and the environment are those of this process."""

    def __init__(self, home: Path, cwd: Path) -> None:
        super().__init__(home, cwd)
        self.environ = os.environ

    def __call__(self, *arguments: str, stdin: str = "") -> Result:
        with _stream("stdout") as out, _stream("stderr") as err, _input(stdin):
            code = cli.run(arguments)
            said, told = _text(out), _text(err)
        assert "Traceback" not in told and "Internal error" not in told, told
        return Result(code, said, told)


@contextmanager
def _stream(name: str) -> Iterator[IO[str]]:
    """A file, since what a turn prints goes past the stream."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as file, mock.patch.object(sys, name, file):
        yield file


def _text(file: IO[str]) -> str:
    file.flush()
    file.seek(0)
    return file.read()


def _input(text: str) -> "mock._patch[io.TextIOWrapper]":
    return mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
