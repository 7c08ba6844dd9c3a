"""The folder on another host keeps the library's rules for workspaces."""

import asyncio
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_ai.workspaces import Workspace, WorkspaceBackend, WorkspaceTimeoutError
from pydantic_ai.workspaces.conformance import WorkspaceBackendSuite

from co_tui.paths import locate
from co_tui.session.workplace.host.address import HostAddress
from co_tui.session.workplace.host.host_commands import HostCommands
from co_tui.session.workplace.host.host_folder import HostBackend
from co_tui.session.workplace.host.host_workplace import HostWorkplace, connect
from tests.support.ssh_host import stand_in_host


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostWorkplace]:
    made = stand_in_host(tmp_path_factory.mktemp("host") / "box")
    (made.home / "project").mkdir()
    paths = locate({"CO_TUI_HOME": str(made.folder / "own")})
    connected = connect(HostAddress("box", "project"), made.environ, paths)
    yield connected
    connected.close()


class TestHostBackend(WorkspaceBackendSuite):
    # These rules are for other kinds of backends, or cannot be tried as root.
    test_concurrent_first_use_shares_one_environment = None
    test_permission_denied_uses_builtin_error = None
    test_a_backend_attached_by_ref_reaches_the_same_environment = None
    test_destroying_environment_during_command_raises_unavailable = None
    test_attaching_to_a_destroyed_environment_raises_unavailable = None

    async def test_timeout_raises_workspace_timeout_error(self, backend: WorkspaceBackend) -> None:
        """As the library's, which does not say what happened instead."""
        assert isinstance(backend, HostBackend)
        with pytest.raises(WorkspaceTimeoutError):
            pytest.fail(f"it ended: {await backend.run(['sh', '-c', 'sleep 3600'], timeout=1.0)}")

    @pytest.fixture
    def backend(self, tmp_path: Path, host: HostWorkplace) -> Iterator[WorkspaceBackend]:
        name = uuid.uuid4().hex  # what is left of a session's commands is found by its name
        link = host.host.link.session(name)
        commands = HostCommands(lambda _: None, tmp_path / "own", name, link=link)
        yield HostBackend(host.host, link, commands)
        asyncio.run(commands.guard.close())

    async def test_a_file_that_is_too_large_is_not_sent(self, backend: WorkspaceBackend) -> None:
        os.truncate(_made(Path(await backend.working_dir()) / "large"), 50_000_000)
        with pytest.raises(OSError, match="larger than 40 MB"):
            await Workspace(backend).read_bytes("large")


def _made(file: Path) -> Path:
    file.touch()
    return file
