"""Which command lines are understood, and what their words are."""

import shlex
import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from co_tui.shell.syntax import NotUnderstood, commands_in, parse
from tests.support.cases import each_case


def words(line: str) -> list[list[str] | None]:
    return [command.texts for command in commands_in(parse(line))]


@each_case(
    ("line", "expected"),
    [
        ("ls", [["ls"]]),
        ("git status && git diff | head -5", [["git", "status"], ["git", "diff"], ["head", "-5"]]),
        ("ls; pwd\nid", [["ls"], ["pwd"], ["id"]]),
        ("cat 'a b' \"c d\" e'f'g \\*", [["cat", "a b", "c d", "efg", "*"]]),
        ('grep "a\\|b\\"c$" x', [["grep", 'a\\|b"c$', "x"]]),
        ("CI=1 make 2>&1 >/dev/null", [["make"]]),
        ('echo "$(git rev-parse HEAD)"', [None, ["git", "rev-parse", "HEAD"]]),
        ("cat <<'EOF' > x\n$(rm x) `id`\nEOF\nls", [["cat"], ["ls"]]),
        ("# look\nls # there", [["ls"]]),
        ("find . -exec grep -l x {} \\;", [["find", ".", "-exec", "grep", "-l", "x", "{}", ";"]]),
    ],
)
def test_the_words_of_every_command_are_read(line: str, expected: list[list[str] | None]) -> None:
    assert words(line) == expected


@each_case(
    "line",
    ["", " ", "ls 'x", 'ls "x', "ls;;", "ls ; ; ls", "ls &", "ls & id", "a |& b", "ls &> x", "cat .\\\n./secret",
     "echo `id`", 'echo "`id`"', "echo $HOME", 'echo "$HOME"', "echo ${x}", "echo $((1))", "echo $'a'", 'echo $"a"',
     "echo {a,b}", "ls ~root", "ls a:~/b", "x() { ls; }", "if true; then ls; fi", "for x in a; do ls; done", "(ls)",
     "{ ls; }", "! ls", "[[ a ]]", "[ -f x ]", "case x in y) ls;; esac", "export A=1", "A=1", "a[0]=1 ls", "cat <<< x",
     "cat <(ls)", "cat <<-EOF\n\tx\n\tEOF", "cat <<EOF\n$(id)\nEOF", "cat <<A <<B\n1\nA\n2\nB", "ls\rid", "ls \x0b id",
     "ls \0", "echo a;#b", "cat é", "> x", "x" * 30_000, "echo " + "$(" * 60 + "ls" + ")" * 60],
)  # fmt: skip
def test_what_shells_could_read_differently_is_not_understood(line: str) -> None:
    with pytest.raises(NotUnderstood):
        parse(line)


alphabet = st.sampled_from("ab '\"; &|$`()<>\\\n*?~-/.#={},:!^%é\t[]")


@given(st.text(alphabet, max_size=24))
@example("'a'\"b\"\\ c")
def test_words_are_what_the_shells_make_of_them(tail: str) -> None:
    """Whatever is understood as one command has the same words in sh and in bash."""
    line = f"printf '%s\\0' {tail}"
    try:
        [command] = commands_in(parse(line))
    except (NotUnderstood, ValueError):
        return
    if command.texts is None or command.redirects:
        return
    expected = "".join(f"{word}\0" for word in command.texts[2:] or [""]).encode("utf-8", "surrogateescape")
    expected = (
        expected.replace(b"~/", b"/nowhere/", 1) if command.words[2:3] and command.words[2].is_under_home else expected
    )
    for shell in ("sh", "bash"):
        said = subprocess.run(
            [shell, "-c", line],
            capture_output=True,
            env={"HOME": "/nowhere", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        )
        if not any(word.is_under_home for word in command.words):
            assert (said.stdout, said.returncode) == (expected, 0), shell


@given(st.lists(st.text("ab'\" $`\\;&|*?~#\n", max_size=8), min_size=1, max_size=4))
def test_quoted_words_come_back_whole(given_words: list[str]) -> None:
    line = shlex.join(["echo", *given_words])
    try:
        assert words(line) == [["echo", *given_words]]
    except NotUnderstood:
        assert "\\\n" in line
