"""The user's prompts and commands as messages for the model."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeAlias

from pydantic_ai.messages import ModelRequest, UserContent, UserPromptPart

from co_tui.agent.models.open_model import ModelHandle
from co_tui.context.measure.file_costs import TEXT_ONLY
from co_tui.events.stored_messages import COMMAND, PASTED, Span
from co_tui.inert import one_line
from co_tui.session.attachments import fenced, has_images, with_files
from co_tui.session.file_references import NAME_CHARS, NamedFile
from co_tui.session.runtime.runtime import Runtime

PromptContent: TypeAlias = str | Sequence[UserContent]


def prompt_message(content: PromptContent, pasted: Sequence[Span] = ()) -> ModelRequest:
    """A prompt with its attachments; `pasted` are the parts of its text that were pasted and folded."""
    metadata = {PASTED: [list(span) for span in pasted]} if pasted else None
    return ModelRequest(parts=[UserPromptPart(content)], timestamp=datetime.now(UTC), metadata=metadata)


def command_message(command: str, how: str, output: str, where: str) -> ModelRequest:
    """The user's command, how it ended and its output."""
    heading = f"[The user ran a command in {one_line(where, NAME_CHARS)}. It {how}.]"
    said = fenced(output) if output.strip() else "(No output.)"
    return ModelRequest(
        parts=[UserPromptPart(f"{heading}\n$ {command}\n\n{said}")],
        timestamp=datetime.now(UTC),
        metadata={COMMAND: command},
    )


async def prompt_content(prompt: str, files: Sequence[NamedFile], runtime: Runtime) -> PromptContent:
    """The prompt with its files, if this model accepts them. Raises `AttachmentRefused`."""
    takes_images = has_images(files) and await _takes_images(runtime.model_handle)
    window = runtime.history.governor.window.tokens
    return with_files(prompt, files, window_tokens=window, takes_images=takes_images)


async def _takes_images(model_handle: ModelHandle) -> bool:
    if model_handle.name.partition(":")[0] in TEXT_ONLY:
        return False
    return (await model_handle.model()).profile.get("supports_image_input", True)
