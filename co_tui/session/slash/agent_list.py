"""The agents that work can be delegated to."""

from collections.abc import Iterator
from pathlib import Path

from co_tui.agent.models.model_families import model_named, unknown_family
from co_tui.agent.permissions.agent_limits import unknown_tools
from co_tui.events.facts.agents import MAIN_AGENT
from co_tui.inert import inert, one_line
from co_tui.paths import path_text
from co_tui.session.launch import Launch
from co_tui.settings import AgentFile, SettingsError, agents_in_force, project_trust_request
from co_tui.settings.markdown.agent_files import PROJECT_FOLDERS
from co_tui.settings.trust_texts import waiting_agents_text
from co_tui.trust import Trust

DESCRIPTION_CHARS = 90
INDENT = " " * 4


def agent_lines(launch: Launch, present: str) -> Iterator[str]:
    """Each agent with its tools, model and file; `present` is the session's model."""
    if "agents" not in launch.settings.tools:
        yield "Agents are off: the setting `tools` does not include them."
        return
    found = agents_in_force(launch.paths, launch.cwd, launch.settings)
    yield "self  a new run of the current agent, with all its tools"
    for agent in found.agents:
        yield from _one(agent, launch.cwd, present)
    yield from (f"! {inert(problem)}" for problem in found.problems)
    yield from _waiting(launch)
    yield f"Define more in {', '.join(PROJECT_FOLDERS)} of a project, or in {path_text(launch.paths.agents)}."


def speaker_lines(launch: Launch, speaker: str) -> Iterator[str]:
    """Who the conversation can be handed to, and who answers now."""
    agents = [
        each for each in agents_in_force(launch.paths, launch.cwd, launch.settings).agents if each.name != MAIN_AGENT
    ]
    described = {MAIN_AGENT: "the session's own agent", **{each.name: each.description for each in agents}}
    longest = max(map(len, described))
    for name, text in described.items():
        line = f"{'●' if name == speaker else '○'} {name:<{longest}}  {one_line(text, DESCRIPTION_CHARS)}"
        yield line.rstrip()
    yield "Hand the conversation over with /agent NAME." if agents else "There are no other agents; see /agents."


def _one(agent: AgentFile, cwd: Path, present: str) -> Iterator[str]:
    yield f"{agent.name}  {one_line(agent.description, DESCRIPTION_CHARS)}".rstrip()
    tools = "all tools" if agent.tools is None else f"tools {', '.join(agent.tools) or 'none'}"
    without = f", except {', '.join(agent.withheld_tools)}" if agent.withheld_tools else ""
    named = model_named(agent.model, present)
    model = f" · on {named}" if named else ""
    file = agent.file.relative_to(cwd) if agent.file.is_relative_to(cwd) else agent.file
    context = f" · context {agent.context}" if agent.context else ""
    yield inert(f"{INDENT}{tools}{without}{model}{context} · {path_text(file)}")
    if unknown := unknown_tools(agent):
        yield inert(f"{INDENT}! Unknown tool {', '.join(unknown)}; ignored.")
    if agent.unused_keys:
        yield inert(f"{INDENT}! {', '.join(agent.unused_keys)} in its file has no effect here.")
    if agent.model and not named:
        yield inert(f"{INDENT}! {unknown_family(agent.model, present)} The session's model is used.")


def _waiting(launch: Launch) -> Iterator[str]:
    """The agents a folder defines that are not trusted yet."""
    try:
        wish = project_trust_request(launch.cwd)
    except SettingsError as error:
        yield f"! {error}"
        return
    if wish is not None and wish.agents and not Trust(launch.paths.trust_file).has(wish):
        yield inert(waiting_agents_text(wish))
