"""The only file that imports private names of pydantic-ai and its harness: none of them has a public equivalent.

`INTERNALS` lists each name that is imported, overridden or read, with the reason; `CHECKED` the versions it was checked
with. `test_library_internals.py` fails when an upgrade removes or changes one, and when one is used that is not listed.

An imported name is loaded when it is first asked for, and is here without its underscore.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from pydantic_ai._ssrf import is_cloud_metadata_ip, is_private_ip, resolve_hostname
    from pydantic_ai._utils import is_text_like_media_type
    from pydantic_ai.models.openai import _web_search_requests as web_search_requests
    from pydantic_ai_harness.filesystem._content import apply_replacements
    from pydantic_ai_harness.filesystem._matching import glob_match, glob_parts
    from pydantic_ai_harness.filesystem._toolset import _recoverable as recoverable
    from pydantic_ai_harness.filesystem._toolset import _Scope as Scope
    from pydantic_ai_harness.repo_context._loader import (
        discover_instruction_files,
        find_dir_context_file,
        render_context_file,
    )
    from pydantic_ai_harness.shell._jobs import Job

__all__ = [
    "Job",
    "Scope",
    "apply_replacements",
    "discover_instruction_files",
    "find_dir_context_file",
    "glob_match",
    "glob_parts",
    "is_cloud_metadata_ip",
    "is_private_ip",
    "is_text_like_media_type",
    "recoverable",
    "render_context_file",
    "resolve_hostname",
    "web_search_requests",
]

CHECKED: Final = {"pydantic-ai-slim": "2.62.0", "pydantic-ai-harness": "0.62.0"}


class Internal(NamedTuple):
    """A private name, and why it is used."""

    owner: str
    """`module:class`, or a module."""
    name: str
    reason: str
    parameters: str | None = None
    """Parameter names of a function; None for anything else."""


_LOADER: Final = "pydantic_ai_harness.repo_context._loader"
_FILES: Final = "pydantic_ai_harness.filesystem._toolset"
_GLOBS: Final = "pydantic_ai_harness.filesystem._matching"
_SSRF: Final = "pydantic_ai._ssrf"

IMPORTED: Final = (
    Internal(_SSRF, "is_private_ip", "Pages of private networks need a rule that names them.", "ip_str"),
    Internal(_SSRF, "is_cloud_metadata_ip", "Pages of a cloud's own service are refused.", "ip_str"),
    Internal(_SSRF, "resolve_hostname", "The address that was checked is the one that is asked.", "hostname"),
    Internal("pydantic_ai._utils", "is_text_like_media_type", "Which pages are text.", "media_type"),
    Internal(
        "pydantic_ai_harness.filesystem._content",
        "apply_replacements",
        "The text before a replacement that failed, to name the nearest lines.",
        "text replacements path",
    ),
    Internal(
        "pydantic_ai.models.openai",
        "_web_search_requests",
        "Replaced: for a chat, too, it loads all types of the Responses API.",
        "response",
    ),
    Internal(_GLOBS, "glob_parts", "Patterns as the tool explains them.", "pattern"),
    Internal(_GLOBS, "glob_match", "The same, for a path.", "pattern path"),
    Internal(_FILES, "_recoverable", "Errors that a model can correct, in the harness's words.", "fn"),
    Internal(_FILES, "_Scope", "Subclassed: folders that the user added, and files that a rule lets be read."),
    Internal(
        _LOADER,
        "discover_instruction_files",
        "Instruction files, read through our checks.",
        "workspace workspace_dir home_dir filenames",
    ),
    Internal(_LOADER, "find_dir_context_file", "The same for one folder.", "workspace directory filenames"),
    Internal(_LOADER, "render_context_file", "As the harness shows them to the model.", "file label"),
    Internal("pydantic_ai_harness.shell._jobs", "Job", "The type of a command in the background."),
)

_TOOLS: Final = "pydantic_ai_harness.filesystem._capability:FileSystem"
_TOOLSET: Final = f"{_FILES}:FileSystemToolset"
_AGENTS: Final = "pydantic_ai_harness.subagents._capability:SubAgents"
_SANDBOX: Final = "pydantic_ai_harness.bubblewrap_sandbox._workspace:BubblewrapWorkspace"
_STREAM: Final = "pydantic_ai.models:StreamedResponse"
_REPLY: Final = "pydantic_ai.models.openai:OpenAIStreamedResponse"
_SHELL: Final = "pydantic_ai_harness.shell._toolset:ShellToolset"
_CONTEXT: Final = "pydantic_ai_harness.repo_context._capability:RepoContext"
_SKILLS: Final = "pydantic_ai_harness.skills._capability:Skills"
_LOCAL: Final = "pydantic_ai.workspaces.local:LocalWorkspaceBackend"

INHERITED: Final = (
    Internal(_AGENTS, "_by_name", "The agents, for our toolset."),
    Internal(_AGENTS, "_call_counts", "The same."),
    Internal(_AGENTS, "_make_toolset", "Use our toolset.", "self"),
    Internal(_AGENTS, "_collect_instructions", "The list of agents in every request, not as a change of it.", "self"),
    Internal(_AGENTS, "_render_instructions", "Our introduction before the list.", "self"),
    Internal(
        "pydantic_ai_harness.subagents._toolset:SubAgentToolset",
        "_resolve_agent",
        "No limit of requests: the session counts steps.",
        "self ctx agent_name",
    ),
    Internal("pydantic_ai.models.openai:OpenAIChatModel", "_streamed_response_cls", "Use our stream."),
    Internal(_REPLY, "_raw_text_content", "It copies the whole text with each chunk."),
    Internal(_REPLY, "_response", "The chunks, to check each."),
    Internal(_REPLY, "_validate_response", "Check each chunk before the library reads it.", "self"),
    Internal(_STREAM, "_event_iterator", "A wrapped stream: the library reads the events once."),
    Internal(_STREAM, "_get_event_iterator", "The same, with limits.", "self"),
    Internal(_STREAM, "_finished", "Whether the reply is whole."),
    Internal(_STREAM, "_cancelled", "Whether it was stopped."),
    Internal(_TOOLS, "_file_system_toolset", "Use our toolset.", "self"),
    Internal(_TOOLS, "_toolset", "And keep it."),
    Internal(_TOOLSET, "_changing", "Note a file before and after a change.", "self scope real"),
    Internal(
        _TOOLSET,
        "_edit_file",
        "Name the nearest lines if a text is not found.",
        "self scope ctx path replacements expected_hash",
    ),
    Internal(_TOOLSET, "_create_directory", "Also in a folder that the user added.", "self scope ctx path"),
    Internal(_TOOLSET, "_write_file", "Create missing folders.", "self scope ctx path content expected_hash"),
    Internal(_TOOLSET, "_read_file", "Note what the model sees.", "self scope ctx path offset limit"),
    Internal(_TOOLSET, "_read_target", "Read outside of the folder by a rule.", "self scope resolved"),
    Internal(_TOOLSET, "_list_directory", "List without a program.", "self scope ctx path"),
    Internal(_TOOLSET, "_find_files", "Find without a program.", "self scope ctx pattern path files_only"),
    Internal(_TOOLSET, "_search_files", "Search without a program.", "self scope ctx pattern path include_glob"),
    Internal(_TOOLSET, "_safe_resolve", "The harness's check of a path.", "self scope path write check_allowed"),
    Internal(_TOOLSET, "_safe_resolve_real", "The same, with links.", "self scope path write check_allowed"),
    Internal(_TOOLSET, "_stat", "Whether a folder is there.", "self scope resolved"),
    Internal(_TOOLSET, "_nearest_existing_is_dir", "Whether one can be made there.", "self scope path"),
    Internal(_TOOLSET, "_patterns", "Which files may be read."),
    Internal(_TOOLSET, "_max_list_results", "The limits, as the tools explain them."),
    Internal(_TOOLSET, "_max_find_results", "The same."),
    Internal(_TOOLSET, "_max_search_results", "The same."),
    Internal(_TOOLSET, "_event_location", "For the events of the tools.", "self scope resolved"),
    Internal(_TOOLSET, "_searched", "The same.", "self scope resolved pattern search match_count truncated"),
    Internal(_CONTEXT, "_cached_working_dir", "Instruction files, read through our checks."),
    Internal(_CONTEXT, "_context_files", "The same, with what they import."),
    Internal(_CONTEXT, "_collect_instructions", "All of them in every request, not as a change of it.", "self"),
    Internal(
        "pydantic_ai_harness.skills._capability:Skills",
        "_load",
        "Read skills through our checks.",
        "self run_workspace",
    ),
    Internal(_LOCAL, "_env", "Where commands look for programs."),
    Internal(
        _LOCAL,
        "_wait_and_collect_output",
        "Show output while a command runs.",
        "self process stdout_buffer stderr_buffer absolute_deadline",
    ),
    Internal(_SANDBOX, "_bwrap_args", "What is hidden is looked up when a command runs."),
    Internal(_SANDBOX, "_launch", "Our arguments, and output past the sandbox's start.", "self bwrap working_dir"),
    Internal(_SANDBOX, "_login_path_mounts", "Programs as our commands find them.", "self working_dir"),
    Internal(_SANDBOX, "_sandbox", "Find out why no sandbox starts.", "self"),
    Internal(_SHELL, "_default_timeout", "The limit, as the tool explains it."),
    Internal(_SHELL, "_jobs_base", "Output of background commands in the session's folder.", "self ctx"),
    Internal(_SHELL, "_read_bg_output", "Both ends of it, not the end alone.", "self job"),
)
INTERNALS: Final = (*IMPORTED, *INHERITED)


def __getattr__(name: str) -> Any:
    """An imported name, without its underscore."""
    for each in IMPORTED:
        if each.name.lstrip("_") == name:
            return getattr(import_module(each.owner), each.name)
    raise AttributeError(name)
