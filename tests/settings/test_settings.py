"""Every value knows where it came from, and a bad one is named with what is allowed."""

from pathlib import Path

import pytest

from co_tui.paths import Paths, locate
from co_tui.settings import Settings, load, policy_names
from co_tui.settings.consistency import usable_rules


@pytest.fixture
def paths(home: Path) -> Paths:
    return locate({"CO_TUI_HOME": str(home)})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "repo" / "src"
    folder.mkdir(parents=True)
    return folder


def written(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_the_strongest_layer_wins(paths: Paths, project: Path) -> None:
    def origin(environ=None, command_line=None):
        loaded = load(paths=paths, cwd=project, environ=environ or {}, command_line=command_line)
        assert loaded.problems == ()
        found = loaded.origins["tool_output_trim_chars"]
        assert loaded.settings.tool_output_trim_chars == found.value
        return found.value, found.source

    assert origin()[1] == "policy balanced"
    written(paths.config_file, "tool_output_trim_chars = 11\n")
    assert origin() == (11, str(paths.config_file))
    written(project.parent / ".co-tui.toml", "tool_output_trim_chars = 12\n")
    assert origin() == (12, str(project.parent / ".co-tui.toml"))
    environ = {"CO_TUI_TOOL_OUTPUT_TRIM_CHARS": "13"}
    assert origin(environ) == (13, "the environment")
    assert origin(environ, {"tool_output_trim_chars": 14}) == (14, "the command line")


def test_the_policy_is_a_layer_of_its_own(paths: Paths, project: Path) -> None:
    loaded = load(paths=paths, cwd=project, environ={"CO_TUI_POLICY": "cowagent"})
    assert loaded.settings.agent_max_context_turns == 20
    assert loaded.origins["agent_max_context_turns"].source == "policy cowagent"
    written(paths.policies / "mine.toml", "[settings]\nmax_history_messages = 7\n")
    assert load(paths=paths, cwd=project, environ={"CO_TUI_POLICY": "mine"}).settings.max_history_messages == 7
    assert "mine" in policy_names(paths)


def test_the_policies_of_the_contract_exist(paths: Paths) -> None:
    assert set(policy_names(paths)) >= {"balanced", "off", "co-cli", "inkeep", "copilot", "cowagent"}


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("CO_TUI_CONTEXT_WINDOW", "lots", "whole number"),
        ("CO_TUI_CONTEXT_WINDOW", "-1", "from 0 to 1,000,000,000"),
        ("CO_TUI_CONTEXT_WINDOW", "9" * 25, "from 0 to 1,000,000,000"),
        ("CO_TUI_MAX_RETRIES", "1000000000", "from 0 to 20"),
        ("CO_TUI_REQUEST_TIMEOUT_S", "1e999", "to 86,400"),
        ("CO_TUI_HOOKS", "[" * 50, "table of commands"),
        ("CO_TUI_BACKGROUND_COMPACTION_THRESHOLD", "80", "from 0 to 1"),
        ("CO_TUI_POLICY", "nonsense", "balanced"),
        ("CO_TUI_POLICY", "../../etc/passwd", "balanced"),
    ],
)
def test_a_bad_value_names_key_value_and_what_is_allowed(paths, project, name, value, allowed) -> None:
    loaded = load(paths=paths, cwd=project, environ={name: value})
    (problem,) = loaded.problems
    assert value in problem and allowed in problem and name.removeprefix("CO_TUI_").lower() in problem.lower()
    assert loaded.settings.policy == "balanced" and loaded.settings.context_window == 0


@pytest.mark.parametrize("text", ["model = ", "[[[", "\xff\xfe"])
def test_a_file_that_is_no_toml_is_named(paths: Paths, project: Path, text: str) -> None:
    paths.config.mkdir(parents=True)
    paths.config_file.write_bytes(text.encode("latin-1"))
    (problem,) = load(paths=paths, cwd=project, environ={}).problems
    assert str(paths.config_file) in problem


def test_unknown_keys_are_warned_about_with_the_nearest(paths: Paths, project: Path) -> None:
    loaded = load(paths=paths, cwd=project, environ={"CO_TUI_MODLE": "sk-secret"})
    (warning,) = loaded.warnings
    assert loaded.problems == () and warning.endswith("Unknown setting 'CO_TUI_MODLE'. Did you mean CO_TUI_MODEL?")


def test_every_setting_says_what_it_allows_and_accepts_its_default() -> None:
    from co_tui.settings import check, rules

    for key, rule in rules().items():
        assert rule.allowed
        assert check(key, getattr(Settings(), key)) == getattr(Settings(), key)


@pytest.mark.parametrize(
    ("user", "project_wants", "given"),
    [
        (None, '["files"]', ("files",)),
        ('["files", "plan"]', '["plan", "commands"]', ("plan",)),
        ('"none"', '["commands"]', ()),
        ('["plan", "files"]', None, ("files", "plan")),
    ],
)
def test_a_project_may_leave_tools_out_and_add_none(paths, project, user, project_wants, given) -> None:
    if user:
        paths.config.mkdir(parents=True)
        paths.config_file.write_text(f"tools = {user}\n")
    if project_wants:
        (project / ".co-tui.toml").write_text(f"tools = {project_wants}\n")
    loaded = load(paths=paths, cwd=project, environ={})
    assert loaded.settings.tools == given and not loaded.problems and loaded.withheld is None
    everything = load(paths=paths, cwd=project, environ={"CO_TUI_TOOLS": "commands,files"})
    assert everything.settings.tools == ("files", "commands"), "the user's own environment is stronger"


@pytest.mark.parametrize("typo", ['denny = ["Bash"]', 'ask = "Bash"'])
def test_rules_next_to_a_typo_still_deny(paths: Paths, project: Path, typo: str) -> None:
    written(paths.config_file, '[permissions]\nallow = ["Bash(make:*)"]\n')
    others = "".join(f"{key} = 'x'\n" for key in ("tools", "skills", "notify", "max_history_messages", "mode", "keys"))
    written(project / ".co-tui.toml", f'{others}[permissions]\ndeny = ["Read(.env)"]\n{typo}\n')
    loaded = load(paths=paths, cwd=project, environ={})
    applied = [(each.effect, str(each.rule)) for each in usable_rules(loaded.settings.permissions)]
    assert applied == [("deny", "Read(.env)")]
    assert loaded.folder_problems[0].endswith("no allow rule applies."), "it is named before what is only ignored"


def test_a_policys_own_variables_count_under_it_alone_below_those_of_co_tui(paths: Paths, project: Path) -> None:
    def origin(policy: str, **environ: str) -> tuple[object, str]:
        loaded = load(paths=paths, cwd=project, environ={"CO_TUI_POLICY": policy, **environ})
        assert loaded.problems == ()
        return loaded.origins["max_history_messages"]

    variable = "CO_CLI_MAX_HISTORY_MESSAGES"
    written(paths.config_file, "max_history_messages = 11\n")
    assert origin("co-cli", **{variable: "30"}) == (30, f"the environment ({variable})")
    assert origin("co-cli", **{variable: ""}) == (11, str(paths.config_file))
    assert origin("copilot", **{variable: "30"}) == (11, str(paths.config_file))
    assert origin("co-cli", CO_TUI_MAX_HISTORY_MESSAGES="9", **{variable: "30"}) == (9, "the environment")
    bad = load(paths=paths, cwd=project, environ={"CO_TUI_POLICY": "co-cli", variable: "many"})
    assert bad.settings.max_history_messages == 11
    (problem,) = bad.problems
    assert variable in problem and "many" in problem and "whole number" in problem


def test_variables_of_a_policy_of_ones_own_are_not_read(paths: Paths, project: Path) -> None:
    written(paths.policies / "mine.toml", '[variables]\nsummarization_model = "SECRET"\n')
    loaded = load(paths=paths, cwd=project, environ={"CO_TUI_POLICY": "mine", "SECRET": "openai:o"})
    assert loaded.settings.summarization_model == ""
