"""The command line in this process, which is quicker than one of its own."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from co_tui import cli
from tests.support.command import Result


@dataclass
class Here:
    """`co-tui` in a folder of its own."""

    home: Path
    cwd: Path
    capture: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str) -> Result:
        self.capture.readouterr()
        code = cli.run(arguments)
        out, err = self.capture.readouterr()
        assert "Traceback" not in err and "should not have" not in err, err
        return Result(code, out, err)
