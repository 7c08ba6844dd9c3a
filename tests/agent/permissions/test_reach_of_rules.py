"""What a rule does not reach, and which older answers count."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from co_tui.agent.permissions.judge import Judge
from co_tui.agent.permissions.older_answers import converted, rules_of
from co_tui.agent.permissions.verdict import Verdict
from co_tui.events import ApprovalDecided
from co_tui.settings.permission_rules import Effect, RuleInForce, parse_rule
from tests.support.cases import each_case


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "repo/src").mkdir(parents=True)
    (tmp_path / "notes").mkdir()
    return tmp_path / "repo"


def judge_in(folder: Path, **more: Any) -> Judge:
    return Judge(folder=folder, home=folder.parent / "home", environ={"PATH": os.environ["PATH"]}, **more)


def rules(**by_effect: str) -> list[RuleInForce]:
    effects: list[Effect] = ["allow", "ask", "deny"]
    return [RuleInForce(each, parse_rule(by_effect[each]), "test") for each in effects if each in by_effect]


def judged(folder: Path, line: str, mode: str = "ask", **by_effect: str) -> Verdict:
    return judge_in(folder).verdict("run_command", {"command": line}, mode, rules(**by_effect))


def test_a_rule_for_files_outside_gives_way_to_others_and_to_our_own_folders(folder: Path) -> None:
    notes = folder.parent / "notes"
    allow = f"Read(/{notes}/**)"
    reads = judge_in(folder).outside_reader(rules(allow=allow))
    assert reads(notes / "a") and not reads(folder.parent / "other")
    for effect in ("ask", "deny"):
        limited = judge_in(folder).outside_reader(rules(allow=allow, **{effect: f"Read(/{notes}/keys)"}))
        assert limited(notes / "a") and not limited(notes / "keys")
    own = judge_in(folder, own=[notes / "ours"]).outside_reader(rules(allow=allow))
    assert own(notes / "a") and not own(notes / "ours/a")


def test_a_rule_with_an_operator_denies_or_asks_about_the_whole_line(folder: Path) -> None:
    for line in ("curl x | sh", "curl x|sh", "cd src && curl x | sh", "ls\ncurl x |  sh"):
        assert judged(folder, line, deny="Bash(curl * | sh)", allow="Bash").action == "refuse", line
    assert judged(folder, "make a&&make b", ask="Bash(make a && make b)", allow="Bash").action == "ask"
    assert judged(folder, "make a", ask="Bash(make a && make b)", allow="Bash").action == "run"
    assert judged(folder, "make a && rm b", allow="Bash(make a && rm b)").action == "ask", "each command by itself"


def test_a_rule_about_the_home_folder_holds_for_paths_written_with_a_tilde(folder: Path) -> None:
    denied = rules(deny="Read(~/keys)")
    for path in ("~/keys", str(folder.parent / "home/keys"), "../home/keys"):
        assert judge_in(folder).verdict("read_file", {"path": path}, "ask", denied).action == "refuse", path
    assert judge_in(folder).verdict("read_file", {"path": "keys"}, "ask", denied).action == "run"


def test_a_rule_against_a_file_holds_under_each_of_its_names(folder: Path) -> None:
    (folder / "secret").mkdir()
    (folder / "link").symlink_to("secret")
    for rule in ("Read(secret/**)", "Read(link/**)"):
        assert judged(folder, "cat link/x", deny=rule).action == "refuse", rule
        reads = judge_in(folder).verdict("read_file", {"path": "link/x"}, "ask", rules(ask=rule))
        assert (reads.action, reads.new) == ("ask", ("link/x",))


def test_a_line_that_is_not_understood_runs_only_where_nothing_speaks_against_it(folder: Path) -> None:
    assert judged(folder, "echo $HOME", "auto").action == "run"
    assert judged(folder, "echo $HOME", allow="Bash").action == "run"
    dangerous = judged(folder, "echo $HOME; rm -rf src", "auto")
    assert (dangerous.action, dangerous.danger) == ("ask", "deletes files")
    for limit in ("Read(keys)", "Edit(keys)"):
        assert judged(folder, "cat $HOME/x", "auto", ask=limit).action == "ask"
        assert judged(folder, "cat $HOME/x", allow="Bash", deny=limit).action == "ask"


def test_no_rule_is_offered_for_what_a_rule_cannot_say(folder: Path) -> None:
    def offered(path: str) -> list[str]:
        return [str(rule) for rule in judge_in(folder).verdict("write_file", {"path": path}, "ask", ()).rules]

    assert offered("src/a") == ["Edit(src/**)"]
    assert offered("a*b/c") == offered("[x]/c") == offered(f"{'deep/' * 100}c") == []
    assert [str(rule) for rule in judged(folder, "make > src/log").rules] == [
        "Edit(src/**)",
        "Bash(make, harmless options)",
    ]
    assert judged(folder, "make > ../log").rules == judged(folder, "make > src/log 2> ../log").rules == ()


def test_what_a_slash_command_allows_gives_way_to_rules_and_dangers(folder: Path) -> None:
    def under(line: str, of_command: str, **more: str) -> Verdict:
        written = [*rules(**more), RuleInForce("allow", parse_rule(of_command), "/go", for_turn=True)]
        tool, key = ("web_fetch", "url") if line.startswith("http") else ("run_command", "command")
        return judge_in(folder).verdict(tool, {key: line}, "ask", written)

    assert under("make all", "Bash").action == under("git push", "Bash", allow="Bash(git push:*)").action == "run"
    assert under("make all", "Bash", ask="Bash(make:*)").action == "ask"
    assert under("make all", "Bash", deny="Bash(make:*)").action == "refuse"
    for line, allow in {
        "rm x": "Bash(rm:*)",
        "git push": "Bash(git push)",
        "make; rm x": "Bash",
        "rm $HOME/x": "Bash",
        "cp src/a .git/config": "Bash",
        "http://localhost/": "WebFetch(domain:localhost)",
    }.items():
        assert under(line, allow).action == "ask", line
        assert under(line, allow, allow=allow).action == ("ask" if allow == "Bash" else "run"), line


def test_a_rule_for_copying_does_not_reach_what_makes_programs_run(folder: Path) -> None:
    rule = "Bash(cp, harmless options)"
    assert judged(folder, "cp src/tasks.json src/other", allow=rule).action == "run"
    assert judged(folder, "cp src/tasks.json .vscode", allow=rule).action == "ask"


def test_a_line_in_the_background_is_asked_about_even_if_it_only_reads(folder: Path) -> None:
    assert judge_in(folder).verdict("start_command", {"command": "ls"}, "ask", ()).action == "ask"


def test_a_folder_that_is_changed_to_is_not_looked_up_elsewhere(folder: Path) -> None:
    assert judged(folder, "cd src && ls").judged_line.startswith("cd ./src && ")


def test_an_answer_adds_rules_only_if_it_allows_and_lasts(folder: Path) -> None:
    def kept(**values: Any) -> list[str]:
        return [str(rule) for rule in rules_of("run_command", ApprovalDecided(call_id="1", **values))]

    assert kept(approved=True, scope="session", rules=("Bash(make)", "not a rule(")) == ["Bash(make)"]
    assert kept(approved=True, scope="once", rules=("Bash(make)",)) == []
    assert kept(approved=False, scope="project", rules=("Bash(make)",)) == []
    assert kept(approved=True, scope="pattern", pattern="make all") == ["Bash(make all)"]


@each_case(
    ("tool", "pattern", "rule"),
    [
        ("run_command", "", None),
        ("run_command", "git * push", None),
        ("run_command", "frobnicate *", None),
        ("run_command", "pytest *", "Bash(pytest, harmless options)"),
        ("read_file", "src/a", None),
        ("write_file", "src/a", "Edit(src/a)"),
        ("write_file", "src/*", "Edit(src/**)"),
        ("write_file", "*/src/*", None),
        ("mcp__shop__look", "x", "mcp__shop__look"),
    ],
)
def test_older_answers_are_converted_if_they_are_as_narrow_as_todays(tool: str, pattern: str, rule: str | None) -> None:
    found = converted(tool, pattern)
    assert (str(found) if found is not None else None) == rule


LINES = [
    "{rule} ; {other}", "{other} && {rule}", "{rule} || {other}", "{rule} | {other}", "{rule} & {other}",
    "{rule}\n{other}", "{rule} $({other})", "{rule} `{other}`", '{rule} "$({other})"', "{rule} <({other})",
    "{rule} > made", "{rule} 2>> made", "X=$({other}) {rule}", "CI=1 {rule}", "({other}; {rule})",
    "{rule} --x={{1,$({other})}}", "if {rule}; then {other}; fi", "{rule} <<< $({other})",
]  # fmt: skip


@given(
    st.sampled_from(["npm run test", "npm run test:unit", "npm run test -- --fast", "timeout 9 npm run test:*"]),
    st.sampled_from(["npm install", "touch made", "npm run tests", "make", "curl example.com"]),
    st.sampled_from(LINES),
)
@examples(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_rule_never_reaches_across_an_operator(folder: Path, covered: str, other: str, line: str) -> None:
    allowed = "Bash(npm run test:*)"
    assert judged(folder, covered, allow=allowed).action == "run"
    assert judged(folder, line.format(rule=covered, other=other), allow=allowed).action == "ask"
    assert judged(folder, line.format(rule=covered, other=other), deny=allowed).action == "refuse"
