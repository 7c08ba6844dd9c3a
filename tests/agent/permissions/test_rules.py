"""Permission rules: what can be written, and what each covers."""

from pathlib import Path

import pytest

from co_tui.settings.permission_rules import (
    Rule,
    RuleInForce,
    covers_command,
    covers_host,
    covers_path,
    covers_tool,
    parse_rule,
)
from tests.support.cases import each_case


@each_case(
    ("text", "rule"),
    [
        ("Bash(git commit:*)", Rule("Bash", "git commit:*")),
        (" Bash(npm run *) ", Rule("Bash", "npm run *")),
        ("Bash", Rule("Bash")),
        ("Bash(*)", Rule("Bash")),
        ("Write(src/**)", Rule("Edit", "src/**")),
        ("Read(~/notes/**)", Rule("Read", "~/notes/**")),
        ("WebFetch(domain:example.com)", Rule("WebFetch", "domain:example.com")),
        ("mcp__files__read", Rule("mcp__files__read")),
    ],
)
def test_rules_are_read_as_people_write_them(text: str, rule: Rule) -> None:
    assert parse_rule(text) == rule
    assert parse_rule(str(rule)) == rule


@each_case("text", ["", "Bsh(x)", "Bash(x", "git commit:*", "WebFetch(example.com)", "mcp__a b", "Foo"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_rule(text)


@each_case(
    ("rule", "yes", "no"),
    [
        ("Bash(git commit:*)", ["git commit", "git commit -m x"], ["git commitx", "git", "git -c a=b commit"]),
        ("Bash(git commit *)", ["git commit", "git commit -m x"], ["git commitx"]),
        ("Bash(npm run test*)", ["npm run test", "npm run test:unit"], ["npm run build"]),
        ("Bash(pytest -q)", ["pytest -q"], ["pytest", "pytest -q x"]),
        ("Bash(git * main)", ["git push main", "git pull origin main"], ["git push mainx"]),
        ("Bash", ["anything at all"], []),
        ("Edit", [], ["ls"]),
    ],
)
def test_a_command_is_covered_by_its_words(rule: str, yes: list[str], no: list[str]) -> None:
    assert [line for line in yes if not covers_command(parse_rule(rule), line.split())] == []
    assert [line for line in no if covers_command(parse_rule(rule), line.split())] == []


@each_case(
    ("pattern", "yes", "no"),
    [
        ("src/**", ["src/a.py", "src/a/b.py"], ["a.py", "srcx/a.py", "x/src/a.py"]),
        ("src", ["src/a.py", "x/src/a.py"], ["a.py"]),
        ("./*", ["a.py"], ["src/a.py"]),
        ("/docs/*.md", ["docs/a.md"], ["docs/a/b.md", "x/docs/a.md"]),
        ("*.md", ["a.md", "docs/a.md"], ["a.mdx"]),
        (".env", [".env", "x/.env"], [".envrc"]),
        ("**/test_*.py", ["test_a.py", "a/b/test_c.py"], ["a/x_test_c.py"]),
        ("", ["a", "b/c"], []),
    ],
)
def test_a_path_is_covered_as_in_ignore_files(pattern: str, yes: list[str], no: list[str]) -> None:
    folder, rule = Path("/repo"), Rule("Edit", pattern)
    assert [path for path in yes if not covers_path(rule, folder / path, folder, Path("/home/me"))] == []
    assert [path for path in no if covers_path(rule, folder / path, folder, Path("/home/me"))] == []


def test_paths_outside_of_the_folder_have_to_be_named() -> None:
    folder, home = Path("/repo"), Path("/home/me")
    assert covers_path(Rule("Read", "~/notes/**"), home / "notes/a/b", folder, home)
    assert covers_path(Rule("Read", "//etc/hosts"), Path("/etc/hosts"), folder, home)
    for pattern in ("", "**", "*", "notes/**", "/etc/hosts"):
        assert not covers_path(Rule("Read", pattern), home / "notes/a", folder, home)
        assert not covers_path(Rule("Read", pattern), Path("/etc/hosts"), folder, home)


@each_case(
    ("pattern", "path"),
    [("", "/home/me/notes/a"), ("secret*", "/repo/secrets/key"), (".*", "/repo/.envs/prod"), ("~", "/home/me/a")],
)
def test_what_denies_covers_more_than_what_allows(pattern: str, path: str) -> None:
    folder, home = Path("/repo"), Path("/home/me")
    rule = parse_rule(f"Read({pattern})")
    assert RuleInForce("deny", rule).covers(Path(path), folder, home)
    assert RuleInForce("allow", rule).covers(Path(path), folder, home) == (pattern == "~")


@each_case("pattern", ["../x", "a/../b", "~other/x", "$HOME/x"])
def test_a_path_that_could_never_match_is_not_a_rule(pattern: str) -> None:
    with pytest.raises(ValueError):
        parse_rule(f"Read({pattern})")


def test_what_a_path_pattern_repeats_means_nothing() -> None:
    assert [str(parse_rule(f"Read({each})")) for each in ("~/notes/./a", "src//b", "///etc/x")] == [
        "Read(~/notes/a)",
        "Read(src/b)",
        "Read(//etc/x)",
    ]


def test_server_tools_and_hosts_are_covered_by_name() -> None:
    assert covers_tool(parse_rule("mcp__files"), "mcp__files__read")
    assert covers_tool(parse_rule("mcp__files__*"), "mcp__files__read")
    assert not covers_tool(parse_rule("mcp__files__read"), "mcp__files__read_all")
    assert not covers_tool(parse_rule("Bash"), "mcp__files__read")
    assert covers_host(parse_rule("WebFetch(domain:*.example.com)"), "docs.Example.com")
    assert not covers_host(parse_rule("WebFetch(domain:example.com)"), "example.com.evil.org")


def test_no_pattern_takes_long() -> None:
    """A project that is not trusted may write rules that deny."""
    rule = parse_rule(f"Bash({'*a' * 200}b)")
    assert not covers_command(rule, ["a" * 20_000])
    path = Path("/repo") / "/".join("a" * 100)
    assert not covers_path(Rule("Read", "/".join(["**", "a*a*a*a"] * 60) + "/b"), path, Path("/repo"), Path("/home/me"))
