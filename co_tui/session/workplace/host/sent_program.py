"""What is sent to the other host: the program that runs there, with the modules it imports."""

import json
import re
import zlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

MAIN: Final = "co_tui.session.workplace.host.program.remote_program"
IGNORE_FILES: Final = "pathspec"
"""The library that reads ignore files."""
READY: Final = b"co-tui is ready\n"
"""Printed there before the first answer; what login scripts print comes before it."""
NO_PYTHON: Final = 93
"""Exit code there."""
_IMPORT: Final = re.compile(r"^from (co_tui[\w.]*) import", re.MULTILINE)

_BOOT: Final = """
import sys, re, json, zlib, types, typing, importlib.abc, importlib.util
# Slow ignore rules need a library that is not there: they are left out, and what they name is covered.
regex = sys.modules["regex"] = types.ModuleType("regex")
regex.error = re.error
def refuse(pattern, *_): raise re.error("not available")
regex.compile = refuse
for name in ("Self", "NotRequired", "Never"):
    if not hasattr(typing, name): setattr(typing, name, typing.Any)
if not hasattr(typing, "dataclass_transform"): typing.dataclass_transform = lambda **_: lambda made: made
sent = json.loads(zlib.decompress(sys.stdin.buffer.read(int(sys.stdin.buffer.readline()))))
class Sent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        holds = any(each.startswith(name + ".") for each in sent)
        if holds or name in sent: return importlib.util.spec_from_loader(name, self, is_package=holds)
    def exec_module(self, module):
        if module.__name__ in sent:
            exec(compile(sent[module.__name__], module.__name__, "exec"), module.__dict__)
sys.meta_path.insert(0, Sent())
from co_tui.session.workplace.host.program.remote_program import main
sys.stdout.buffer.write(READY); sys.stdout.buffer.flush()
main()
"""
_START: Final = r"""
python=$(
  PATH=$PATH:/usr/local/bin:/usr/bin:/bin:$HOME/.local/bin
  for each in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
    command -v "$each" > /dev/null &&
      "$each" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 10) or print(sys.executable))' 2> /dev/null && exit
  done
  exit 1
) || exit 93
exec "$python" -I -S -c "$1"
"""
"""Starts Python itself: a wrapper, such as that of pyenv, would change PATH for every command."""


@cache
def sent_modules() -> bytes:
    """The sources of the program, compressed, after their length."""
    sources: dict[str, str] = {}
    waiting = [MAIN]
    while waiting:
        name = waiting.pop()
        spec = None if name in sources else find_spec(name)
        if spec is None or spec.origin is None or spec.submodule_search_locations is not None:
            continue  # packages are empty there
        sources[name] = Path(spec.origin).read_text(encoding="utf-8")
        waiting += _IMPORT.findall(sources[name])
    sources |= _package(IGNORE_FILES)
    data = zlib.compress(json.dumps(sources).encode(), 9)
    return b"%d\n%s" % (len(data), data)


def _package(name: str) -> dict[str, str]:
    """The sources of a whole package of pure Python."""
    spec = find_spec(name)
    assert spec is not None
    folder = Path(spec.origin or "").parent
    found = {}
    for file in folder.rglob("*.py"):
        parts = [name, *file.relative_to(folder).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file.read_text(encoding="utf-8")
    return found


def start_command() -> str:
    """The command line that starts the program, for the shell there."""
    import shlex

    boot = _BOOT.replace("READY", repr(READY))
    return f"exec /bin/sh -c {shlex.quote(_START)} sh {shlex.quote(boot)}"
