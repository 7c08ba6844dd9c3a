"""Files on another host and resources of MCP servers that a prompt names: read when it is sent."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pydantic_ai.messages import BinaryContent, ModelRequest

from co_tui.events.stored_messages import Span
from co_tui.inert import one_line
from co_tui.session.approvals.asking import Approvals
from co_tui.session.attachments import AttachmentRefused
from co_tui.session.file_references import NamedFile
from co_tui.session.prompt_messages import prompt_content, prompt_message
from co_tui.session.runtime.runtime import Runtime
from co_tui.session.turns.turn import WritePrompt
from co_tui.settings import Settings

if TYPE_CHECKING:
    from co_tui.session.environment import Environment


async def written(
    prompt: str,
    files: Sequence[NamedFile],
    environment: "Environment",
    runtime: Callable[[], Runtime],
    pasted: Sequence[Span] = (),
) -> ModelRequest | WritePrompt:
    """The prompt with its files. One with files on another host or MCP resources is written in its turn: reading them
    can take long, and until then it waits in the queue like any other. Raises `AttachmentRefused`."""
    if not files:
        return prompt_message(prompt, pasted)
    if not any(file.is_pending for file in files):
        return prompt_message(await prompt_content(prompt, files, runtime()), pasted)

    async def write(approvals: Approvals) -> ModelRequest:
        read = await with_resources(files, environment, runtime().settings)
        return prompt_message(await prompt_content(prompt, read, runtime()), pasted)

    return write


async def with_resources(
    files: Sequence[NamedFile], environment: "Environment", settings: Settings
) -> Sequence[NamedFile]:
    """The files with the content of each resource in its place. Raises `AttachmentRefused`."""
    try:
        files = [await environment.workplace.attached(file) for file in files]
    except OSError as error:
        raise AttachmentRefused(str(error)) from None
    if not any(file.server for file in files):
        return files
    if environment.read_only or "mcp" not in settings.tools:
        raise AttachmentRefused("MCP servers are off in this run, so their resources cannot be attached.")
    await environment.mcp_servers.ready(settings.mcp_servers, environment.cwd, environment.environ)
    read: list[NamedFile] = []
    for file in files:
        read += await _read(file, environment) if file.server else [file]
    return read


async def _read(file: NamedFile, environment: "Environment") -> list[NamedFile]:
    from co_tui.agent.mcp.server_resources import ResourceUnreadable

    resources = environment.mcp_servers.resources_of(file.server)
    if resources is None:
        raise AttachmentRefused(f"MCP server {one_line(file.server, 40)} is not running. /mcp says why.")
    try:
        content = await resources.read(file.name.removeprefix(f"{file.server}:"))
    except ResourceUnreadable as error:
        raise AttachmentRefused(str(error)) from None
    parts = [content] if isinstance(content, str) else content
    kind = f"resource of MCP server {file.server}"
    return [
        file._replace(data=part.data if isinstance(part, BinaryContent) else part.encode(), kind=kind, server="")
        for part in parts
    ]
