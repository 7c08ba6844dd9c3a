"""Which programs a command line runs, for summaries: any text is read, and what is understood exactly, read alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from co_tui.shell import programs as shell_programs
from co_tui.shell.programs import Simple, read_command
from co_tui.shell.syntax import NotUnderstood, ShellCommand, Statement, parse
from tests.support.cases import each_case


def programs(command: str) -> list[str]:
    return [" ".join(simple.words) for simple in read_command(command)]


@each_case(
    ("command", "expected"),
    [
        ("cd app && sudo -E timeout 5 make 'all of it'; ls | head", ["cd app", "make all of it", "ls", "head"]),
        ("for x in a b; do touch $x; done", ["touch $x"]),
        ("if [ -f x ]; then rm x; else exit 1; fi", ["[ -f x ]", "rm x", "exit 1"]),
        ("while true; do sleep 1; done &", ["true", "sleep 1"]),
        ("(cd x; ./run) || { echo no; }", ["cd x", "./run", "echo no"]),
        ("bash -lc 'uv run pytest -q'", ["pytest -q"]),
        ("export A=1; B=2 env C=3 node x.js", ["export A=1", "node x.js"]),
        ("echo $(rm x) `id`", ["echo $(rm x) `id`"]),
        ("A=$(rm x); for y in $(ls); do make $y; done", ["make $y"]),
        ("# nothing\n", []),
        ("echo 'half", ["echo"]),
    ],
)
def test_programs_are_found_wherever_they_are(command: str, expected: list[str]) -> None:
    assert programs(command) == expected


def test_output_documents_pipes_and_folders_belong_to_their_program() -> None:
    read = read_command("cd app\ncat > a.txt <<'E' | tee b.txt && ls 2>&1 >c.txt 2>d.txt\n\n$x\nE\nmake")
    assert read == [
        Simple(("cd", "app"), folder="app"),
        Simple(("cat",), ("a.txt",), "\n$x\n", folder="app"),
        Simple(("tee", "b.txt"), is_filter=True, folder="app"),
        Simple(("ls",), ("c.txt",), folder="app"),
        Simple(("make",), folder="app"),
    ]
    assert [each.written for each in read_command("a && b > x; { c; d; } >> y 2>/dev/null")] == [(), ("x",), (), ("y",)]


def directly_run(statement: Statement) -> list[ShellCommand]:
    if isinstance(statement, ShellCommand):
        return [statement]
    return [each for part in statement.parts for each in directly_run(part)]


@given(st.text(st.sampled_from("ab '\"; &|$`()<>\\\n*?~-/.#={},:!^%é\t[]"), max_size=24))
def test_what_is_understood_exactly_is_read_alike(tail: str) -> None:
    line = f"say {tail}"
    read = read_command(line)
    try:
        exact = directly_run(parse(line))
    except NotUnderstood:
        return
    if all(command.texts is not None for command in exact):
        assert [simple.words for simple in read] == [tuple(command.texts or ()) for command in exact]


@pytest.mark.parametrize("part", ["a && ", "a | ", "(", "$(", "if x; then ", "cat <<E\n", "'\"", "x <", "\udce9"])
def test_a_long_text_is_read_up_to_its_limit(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_programs, "MOST_CHARS", 10_000)  # deeper than Python calls go
    assert len(read_command(part * 20_000)) <= 10_000


@pytest.mark.timeout(60)
@each_case("sign", [*"|<>&;(){}", "a|", "a=(", "${", "<<a\n"])
def test_long_commands_of_nothing_but_signs_are_read_in_time(sign: str) -> None:
    assert not any(simple.written for simple in read_command(sign * 40_000))


def test_signs_in_a_long_here_document_do_not_end_a_command() -> None:
    command = "cat > a.py <<'EOF'\n" + "x = (1 | {a > b})\n" * 1_500 + "EOF\npython a.py"
    assert [simple.program for simple in read_command(command)] == ["cat", "python"]
