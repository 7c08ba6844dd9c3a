"""Agent files: read as written, reported when unusable, and never followed out of their folder."""

import os
from pathlib import Path

import pytest

from co_tui.paths import PROJECT_FILE, Paths, locate
from co_tui.settings import AgentFiles, Settings, agents_in_force, load, project_trust_request
from co_tui.settings.markdown.agent_files import MOST_FILES, read_agents, read_project_agents
from co_tui.trust import Trust
from tests.support.cases import each_case

GOOD = "---\nname: {}\ndescription: Does it.\n---\nDo it well.\n"


@pytest.fixture
def paths(home: Path) -> Paths:
    return locate({"CO_TUI_HOME": str(home)})


def agent(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def names(found: AgentFiles) -> list[str]:
    return [each.name for each in found.agents]


@each_case(
    ("text", "description", "model", "tools"),
    [
        ("description: Short.", "Short.", "", None),
        ('description: "Quoted: with a colon."\nmodel: inherit', "Quoted: with a colon.", "", None),
        ("description: >\n  On two\n  lines.\ntools: Read, Grep", "On two lines.", "", ("Read", "Grep")),
        ("# a remark\ndescription: a\n  b\ntools:\n  - Read\n  - Bash\ncolor: red", "a b", "", ("Read", "Bash")),
        ("tools: [read_file, 'Grep']\nmodel: openai:gpt-5", "", "openai:gpt-5", ("read_file", "Grep")),
        ("tools:\nmodel: sonnet", "", "sonnet", ()),
        ("tools: '*'", "", "", None),
    ],
)
def test_front_matter_as_people_write_it(
    tmp_path: Path, text: str, description: str, model: str, tools: tuple[str, ...] | None
) -> None:
    agent(tmp_path, "one.md", f"---\n{text}\n---\n\nDo it.\n")
    (found,) = read_agents(tmp_path).agents
    assert (found.name, found.instructions) == ("one", "Do it.")
    assert (found.description, found.model, found.tools) == (description, model, tools)


def test_agents_may_be_in_subfolders_inside_of_the_project(tmp_path: Path) -> None:
    agents = tmp_path / "project/.claude/agents"
    agent(agents, "one.md", GOOD.format("one"))
    agent(agents, "team/two.md", GOOD.format("two"))
    agent(tmp_path, "elsewhere/three.md", GOOD.format("three"))
    (agents / "linked").symlink_to(tmp_path / "elsewhere")
    assert names(read_project_agents(tmp_path / "project")) == ["one", "two"]


def test_the_request_for_trust_names_the_rules_of_its_tools_and_what_is_not_used(tmp_path: Path) -> None:
    keys = "tools: Read, Bash(git log:*)\npermissionMode: plan\ncolor: red\nhooks:\n  PreToolUse:\n    - odd"
    agent(tmp_path, ".claude/agents/one.md", f"---\n{keys}\n---\nDo it.\n")
    request = project_trust_request(tmp_path)
    assert request is not None and request.requested["agents"] == [
        "one (tools Read, Bash(git log:*); not used: hooks, permissionMode; .claude/agents/one.md)"
    ]


BAD = {
    "plain.md": ("Just a text.", "does not start with a line `---`"),
    "open.md": ("---\nname: x\nDo it.", "no second line `---`"),
    "line.md": ("---\nname x\n---\nDo it.", "line 2 is not `key: value`"),
    "name.md": ("---\nname: ../../etc\n---\nDo it.", "letters, digits, dots and dashes"),
    "self.md": (GOOD.format("self"), "the name self is reserved"),
    "empty.md": ("---\nname: empty\n---\n", "no instructions"),
    "list.md": ("---\nname: [a, b]\n---\nDo it.", "its name must be text"),
    "context.md": (
        "---\nname: c\ncontext: both\n---\nDo it.",
        "its context must be fresh or conversation, not 'both'",
    ),
    "context.toml": ('name = "c"\ndeveloper_instructions = "x"\ncontext = 1', "its context must be text"),
    "broken.toml": ("name = ", "Cannot read"),
    "sandbox.toml": (
        'name = "s"\ndeveloper_instructions = "x"\nsandbox_mode = "read-only"',
        "sandbox_mode is not supported",
    ),
    "number.toml": ('name = "s"\ndeveloper_instructions = "x"\ntools = [1]', "must be tool names"),
}


def test_a_damaged_file_is_a_sentence_that_names_it_and_the_others_work(tmp_path: Path) -> None:
    for name, (text, _) in BAD.items():
        agent(tmp_path, name, text)
    (tmp_path / "binary.md").write_bytes(b"---\n\xff\xfe\n---\n")
    agent(tmp_path, "huge.md", GOOD.format("huge") + "x" * 100_000)
    os.mkfifo(tmp_path / "pipe.md")
    agent(tmp_path, "good.md", GOOD.format("good"))
    found = read_agents(tmp_path)
    assert names(found) == ["good"] and len(found.problems) == len(BAD) + 3
    for name, (_, why) in BAD.items():
        assert any(name in problem and why in problem for problem in found.problems), name
    for name in ("binary.md", "huge.md", "pipe.md"):
        assert any(name in problem for problem in found.problems), name


def test_a_link_out_of_the_project_is_not_followed_but_inside_of_it(tmp_path: Path) -> None:
    project = tmp_path / "project"
    secret = agent(tmp_path, "secret.md", GOOD.format("secret"))
    agent(project, ".agents/agents/good.md", GOOD.format("good"))
    (project / ".agents/agents/leak.md").symlink_to(secret)
    (project / ".claude").symlink_to(project / ".agents")
    found = read_project_agents(project)
    assert names(found) == ["good"]
    (problem,) = found.problems
    assert "leak.md" in problem and "a link out of the project" in problem
    (project / ".codex").mkdir()
    (project / ".codex/agents").symlink_to(tmp_path)
    assert names(read_project_agents(project)) == ["good"]


def test_the_first_of_a_name_counts_and_the_project_before_the_user(paths: Paths, tmp_path: Path) -> None:
    project = tmp_path / "project"
    first = agent(project, ".agents/agents/a.md", GOOD.format("same"))
    agent(project, ".claude/agents/b.md", GOOD.format("same"))
    agent(paths.agents, "c.md", GOOD.format("same"))
    agent(paths.agents, "d.md", GOOD.format("mine"))
    request = project_trust_request(project)
    assert request is not None
    Trust(paths.trust_file).remember(request, trusted=True)
    found = agents_in_force(paths, project, Settings())
    assert names(found) == ["same", "mine"] and found.agents[0].file == first and len(found.problems) == 2
    (project / PROJECT_FILE).write_text("no settings")
    assert names(agents_in_force(paths, project, Settings())) == ["same", "mine"]
    assert agents_in_force(paths, project, Settings()).agents[0].file == paths.agents / "c.md", "it is not known"


def test_too_many_are_reported(tmp_path: Path) -> None:
    for n in range(MOST_FILES + 5):
        agent(tmp_path, f"a{n:03}.md", GOOD.format(f"a{n}"))
    found = read_agents(tmp_path)
    assert len(found.agents) == MOST_FILES and "65 files" in found.problems[0]


def test_one_sentence_says_how_many_wait_and_trust_does_not_depend_on_instructions(
    paths: Paths, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    file = agent(project, ".claude/agents/a.md", GOOD.format("a").replace("---\nDo", "model: openai:evil\n---\nDo"))
    agent(project, ".claude/agents/b.md", GOOD.format("b"))
    loaded = load(paths=paths, cwd=project, environ={})
    (warning,) = loaded.warnings
    assert (
        "2 agents" in warning and "a on openai:evil, b" in warning and "ignored until you run `co-tui trust`" in warning
    )
    assert loaded.agents.agents == () and loaded.withheld is not None and loaded.problems == ()
    Trust(paths.trust_file).remember(loaded.withheld, trusted=True)
    trusted = load(paths=paths, cwd=project, environ={})
    assert names(trusted.agents) == ["a", "b"] and trusted.withheld is None and trusted.warnings == ()
    file.write_text(file.read_text().replace("well", "better"))
    assert load(paths=paths, cwd=project, environ={}).withheld is None
    file.write_text(file.read_text().replace("openai:evil", "openai:worse"))
    assert load(paths=paths, cwd=project, environ={}).withheld is not None
    assert agents_in_force(paths, project, Settings()).agents == ()
