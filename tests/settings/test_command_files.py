"""Slash commands from files: read, named, refused, and trusted."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from co_tui.paths import Paths
from co_tui.settings import CommandFiles, Settings, commands_in_force, load, project_trust_request
from co_tui.settings import files as settings_files
from co_tui.settings.markdown.command_files import MOST_FILES, read_commands, read_project_commands, read_user_commands
from co_tui.settings.markdown.command_text import TextPiece, filled, pieces_of, shell_lines
from co_tui.trust import Trust
from tests.support.cases import each_case


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".claude/commands").mkdir(parents=True)
    (folder / ".git").mkdir()
    return folder


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(data=tmp_path / "data", config=tmp_path / "config", state=tmp_path / "state")


def put(folder: Path, name: str, text: str = "Do it.") -> Path:
    file = folder / ".claude/commands" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def names(found: CommandFiles) -> list[str]:
    return [command.name for command in found.commands]


def test_front_matter_is_read_as_claude_code_writes_it(project: Path) -> None:
    put(
        project,
        "fix.md",
        "---\ndescription: Fix an issue\nargument-hint: [number] [priority]\nmodel: openai:gpt-5\n"
        "allowed-tools: Bash(git add:*), Bash(git status:*), Read\nhooks:\n  - odd\n---\n\nFix #$1.\n",
    )
    (command,) = read_project_commands(project).commands
    assert (command.name, command.description, command.argument_hint) == ("fix", "Fix an issue", "[number] [priority]")
    assert (command.model, command.body, command.source) == ("openai:gpt-5", "Fix #$1.", "project")
    assert command.allowed_tools == ("Bash(git add:*)", "Bash(git status:*)", "Read")


def test_without_front_matter_the_first_line_describes_it(project: Path) -> None:
    put(project, "look.md", "# Look around\n\nSay what you see.")
    put(project, "small.md", "---\nmodel: haiku\n---\nBe brief.")
    look, small = read_project_commands(project).commands
    assert (look.description, look.model) == ("Look around", "")
    assert small.model == "haiku"


def test_subfolders_are_namespaces_and_the_last_part_is_enough_when_it_is_unique(project: Path) -> None:
    for name in ("git/commit.md", "git/push.md", "hg/push.md", "top.md"):
        put(project, name)
    found = read_project_commands(project)
    assert names(found) == ["top", "git:commit", "git:push", "hg:push"]
    assert found.find("git:push") and found.find("commit") == found.find("git:commit")
    assert found.find("push") is None and found.find("help") is None


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("bad.md", "---\nnot a key\n---\nx", "line 2 is not `key: value`"),
        ("open.md", "---\ndescription: x\n", "no second line `---`"),
        ("empty.md", "\n \n", "it is empty"),
        ("hollow.md", "---\ndescription: x\n---\n", "it has no text below the keys"),
        ("help.md", "x", "/help is a built-in command; rename the file"),
        ("odd name.md", "x", "its name must be letters, digits, dots and dashes"),
        ("nul.md", "a\0b", "it is not a text file"),
        ("huge.md", "x" * 70_000, "it is over 64,000 bytes"),
    ],
)
def test_an_unusable_file_is_named_and_the_others_work(project: Path, name: str, text: str, why: str) -> None:
    put(project, name, text)
    put(project, "good.md")
    found = read_project_commands(project)
    assert names(found) == ["good"]
    (problem,) = found.problems
    assert why in problem and name in problem


def test_pipes_binaries_and_links_out_of_the_folder_are_refused(project: Path, tmp_path: Path) -> None:
    commands = project / ".claude/commands"
    os.mkfifo(commands / "pipe.md")
    (commands / "binary.md").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "secret.md").write_text("secret")
    (commands / "leak.md").symlink_to(tmp_path / "secret.md")
    (commands / "away").symlink_to(tmp_path)
    (commands / "loop").symlink_to(commands)
    put(project, "good.md")
    found = read_project_commands(project)
    assert names(found) == ["good"]
    for why in ("pipe or a device", "not UTF-8", "link out of the project"):
        assert why in str(found.problems)
    assert len(found.problems) == 3
    (project / ".agents").symlink_to(tmp_path)
    (tmp_path / "commands").mkdir()
    assert "link out of the project" in str(read_project_commands(project).problems)


def test_many_files_are_bounded(tmp_path: Path) -> None:
    for number in range(MOST_FILES + 1):
        (tmp_path / f"c{number}.md").write_text("x")
    found = read_commands(tmp_path)
    assert len(found.commands) == MOST_FILES and "the rest are not read" in found.problems[-1]


def test_a_tree_of_empty_folders_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_files, "MOST_ENTRIES", 5)
    for number in range(6):
        (tmp_path / f"d{number}").mkdir()
    (tmp_path / "d5" / "go.md").write_text("x")
    found = read_commands(tmp_path)
    assert not found.commands and "has too many files; the rest are not read" in found.problems[-1]


def test_a_project_s_commands_count_once_it_is_trusted_and_ask_again_when_they_want_more(
    project: Path, paths: Paths
) -> None:
    put(project, "go.md", "Look: !`git status`")
    paths.slash_commands.mkdir(parents=True)
    (paths.slash_commands / "mine.md").write_text("Mine.")
    before = load(paths=paths, cwd=project, environ={})
    assert names(before.commands) == names(commands_in_force(paths, project, Settings())) == ["mine"]
    assert before.withheld is not None and "/go" in str(before.warnings)
    wish = project_trust_request(project)
    assert wish is not None and wish.requested["commands"] == ["/go (.claude/commands/go.md, runs git status)"]
    Trust(paths.trust_file).remember(wish, trusted=True)
    assert names(load(paths=paths, cwd=project, environ={}).commands) == ["go", "mine"]
    assert names(commands_in_force(paths, project, Settings())) == ["go", "mine"]
    put(project, "go.md", "Look: !`git push`")
    assert names(commands_in_force(paths, project, Settings())) == ["mine"]


def test_a_project_s_command_comes_before_the_user_s_and_that_is_said(project: Path, paths: Paths) -> None:
    put(project, "go.md", "Theirs.")
    paths.slash_commands.mkdir(parents=True)
    (paths.slash_commands / "go.md").write_text("Mine.")
    wish = project_trust_request(project)
    assert wish is not None
    Trust(paths.trust_file).remember(wish, trusted=True)
    found = commands_in_force(paths, project, Settings())
    assert [command.body for command in found.commands] == ["Theirs."]
    assert "already defines /go" in found.problems[0]


def skill(folder: Path, name: str, text: str = "---\ndescription: Does it\n---\nDo it.") -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(text)


def test_skills_are_commands_after_built_in_ones_and_command_files(project: Path, paths: Paths) -> None:
    put(project, "mine.md")
    for name in ("deploy", "help", "mine"):
        skill(project / ".claude/skills", name)
    skill(project / ".agents/skills", "deploy")
    skill(project / ".claude/skills", "hidden", "---\nuser-invocable: false\n---\nFor the model.")
    skill(project / ".claude/skills", "odd", "---\nno key\n---\nx")
    skill(paths.skills, "deploy", "Another.")
    found = read_project_commands(project).before(read_user_commands(paths.slash_commands, paths.skills))
    assert [(each.name, each.source) for each in found.commands] == [
        ("mine", "project"),
        ("deploy", "project skill"),
        ("skill:help", "project skill"),
        ("skill:mine", "project skill"),
    ]
    assert found.commands[1].description == "Does it"
    odd, hidden = found.problems
    assert "Skipped skill" in odd and "odd/SKILL.md: line 2" in odd
    assert "Skipped skill" in hidden and "already defines /deploy" in hidden


def test_the_request_for_trust_says_what_a_command_allows_and_what_is_not_used(project: Path) -> None:
    put(project, "go.md", "---\nallowed-tools: Bash(git add:*) Read, SlashCommand Foo(x)\nmodel: haiku\n---\nGo.")
    skill(
        project / ".claude/skills",
        "fork",
        "---\ncontext: fork\nallowed-tools: [Bash(${CLAUDE_SKILL_DIR}/x:*)]\n---\n!`make`",
    )
    put(project, "aaa.md")
    wish = project_trust_request(project)
    assert wish is not None
    assert wish.commands == (
        "/go (allows Bash(git add:*), Read for its turn, not used: SlashCommand, Foo(x))",
        f"/skill:fork (allows Bash({project}/.claude/skills/fork/x:*) for its turn, not used: context)",
        "/aaa",
    )
    assert wish.requested["commands"] == [
        "/aaa (.claude/commands/aaa.md)",
        wish.commands[0].replace("(", "(.claude/commands/go.md, model haiku, ", 1),
        wish.commands[1].replace("(", "(.claude/skills/fork/SKILL.md, ", 1).removesuffix(")") + ", runs make)",
    ]


# The text


def text(body: str, arguments: str) -> str:
    return "".join(f"<{piece.text}>" if piece.is_shell else piece.text for piece in filled(pieces_of(body), arguments))


@each_case(
    ("body", "arguments", "expected"),
    [
        ("Fix $ARGUMENTS now", "a b", "Fix a b now"),
        ("$1 then $2, not $3.", "one 'two words'", "one then two words, not $3."),
        ("$0 then $1", "one two", "one then two"),
        ("$ARGUMENTS[1] after $1 of $ARGUMENTS", "one two", "two after two of one two"),
        (r"\$1 \\$1 \$ARGUMENTS[0] \$0 \$HOME", "x", r"$1 \\x $ARGUMENTS[0] $0 \$HOME"),
        ("!`git log $1 $2` !`awk '{print $2}' $1`", "a", "<git log a > <awk '{print $2}' a>"),
        ("$2", "only", "$2\n\nARGUMENTS: only"),
        ("$1", "it's", "it's"),
        ("Fix it", "soon", "Fix it\n\nARGUMENTS: soon"),
        ("Fix it", "", "Fix it"),
        ("$ARGUMENTS", "$1 !`rm x` $ARGUMENTS", "$1 !`rm x` $ARGUMENTS"),
        ("a !`git show $1` b", "HEAD", "a <git show HEAD> b"),
        ("!git status\nafter", "", "<git status>\nafter"),
        ("```\n!not run\n```\n!run", "", "```\n!not run\n```\n<run>"),
        ("![image](x.png)\nwow! `code` and a!`b`", "", "![image](x.png)\nwow! `code` and a!`b`"),
        ("- diff: !`git diff`\n- log: !`git log`", "", "- diff: <git diff>\n- log: <git log>"),
        ("$10 $100 $1 $ARGUMENTSX", "x", "$10 $100 x $ARGUMENTSX"),
    ],
)
def test_arguments_and_commands_are_filled_in_once(body: str, arguments: str, expected: str) -> None:
    assert text(body, arguments) == expected


def test_the_commands_of_a_text_are_known_before_it_runs() -> None:
    assert shell_lines("!`a $1`\n!b") == ["a $1", "b"]
    assert pieces_of("plain\ntext") == [TextPiece("plain\ntext")]


def test_an_argument_has_the_name_that_its_file_declares() -> None:
    named = filled(pieces_of("Fix $issue on $branch, not $issues or \\$issue."), "12 main", ["issue", "branch"])
    assert named == [TextPiece("Fix 12 on main, not $issues or $issue.")]


BODY = st.lists(
    st.sampled_from(
        [
            "$1",
            "$0",
            "\\\\",
            "$ARGUMENTS",
            "$ARGUMENTS[1]",
            "!`ls $1`",
            "!git",
            "\n",
            "`",
            "```",
            "!",
            " ",
            "word",
            "$",
            "9",
        ]
    )
)


@given(BODY.map("".join), BODY.map("".join) | st.text(max_size=30))
def test_what_the_user_types_never_becomes_a_command_of_its_own(body: str, arguments: str) -> None:
    before, after = pieces_of(body), filled(pieces_of(body), arguments)
    assert [piece.is_shell for piece in after][: len(before)] == [piece.is_shell for piece in before]
    assert not any(piece.is_shell for piece in after[len(before) :])
    assert len(shell_lines(body)) <= body.count("!")
