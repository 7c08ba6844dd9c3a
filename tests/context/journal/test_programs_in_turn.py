"""What a command of several programs did: those that ran, those that perhaps did, and in which order."""

import pytest
from pydantic_ai.messages import ModelMessage

from tests.context.journal.test_net_changes import edit, read, wrote
from tests.context.journal.test_work_record import ALL, call, record, result

SED = "sed -i 's/timeout = 5/timeout = 30/' a.py"
EDITED = "Changed in a.py:\n    -timeout = 5\n    +timeout = 30"
WRITES = "open('a.py', 'w').write(s.replace('timeout = 5', 'timeout = 30'))"
PYTHON = f"python3 - <<'EOF'\ns = open('a.py').read()\n{{}}\n{WRITES}\nEOF"
PATCH = "{} <<'EOF'\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-timeout = 5\n+timeout = 30\nEOF\nls"


def ran(command: str, printed: str = "") -> list[ModelMessage]:
    return [call("bash", command=command), result(printed)]


def state(*messages: ModelMessage) -> str:
    return record(*messages).state_text(2_000, ALL)


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        (f"pytest -q && {SED} && git commit -am x", "1 failed\n[exit code: 1]"),
        (f"grep -q timeout a.py || {SED}", ""),
        (f"if grep -q foo a.py; then\n  {SED}\nfi", ""),
        (f"fix() {{\n  {SED}\n}}\ntype fix", "fix is a function"),
        (f"for n in 1 2; do {SED}; done", ""),
        (
            PYTHON.format("assert 'timeout = 5' in s") + "\npytest -q",
            'File "<stdin>", line 2\n3 passed\n[exit code: 0]',
        ),
        (PYTHON.format("if 'timeout = 5' not in s: print('pattern not found')"), "pattern not found"),
        (PATCH.format("patch -p1"), "patching file a.py\nHunk #1 FAILED at 1.\n[exit code: 0]"),
        (PATCH.format("git apply"), "error: patch failed: a.py:1\n[exit code: 0]"),
    ],
)
def test_what_perhaps_changed_a_file_says_so_and_not_what(command: str, printed: str) -> None:
    text = state(*ran(command, printed))
    assert text.startswith("Files changed: a.py (perhaps)") and "Changed in" not in text
    certain = state(*ran(SED), *ran(command, printed))
    assert certain.startswith("Files changed: a.py\n") and "(before another change, which is not shown)" in certain


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        (f"cd /app && {SED} && pytest", "1 failed\n[exit code: 1]"),
        (f"grep -n timeout a.py && {SED} && pytest", "3: timeout = 5\n1 failed\n[exit code: 1]"),
        (f"pytest; {SED}; pytest", "1 failed\n[exit code: 1]"),
        (PYTHON.format("if 'timeout = 5' not in s: print('pattern not found')"), "1 replaced"),
        (f"{SED}; sed -i 's/x/y/' b.py; ls", "sed: can't read b.py: No such file or directory\na.py\n[exit code: 0]"),
        ("cp a.example a.py && " + SED, ""),
        ("git checkout -- a.py && " + SED, ""),
    ],
)
def test_what_was_changed_before_another_program_failed_is_stated(command: str, printed: str) -> None:
    text = state(*ran(command, printed))
    assert text.endswith(EDITED) and "b.py" not in text.partition("Still failing")[0]


def test_a_complaint_is_about_the_program_whose_argument_it_names() -> None:
    missing = "No such file or directory\n[exit code: 0]"
    made = ran("cat setup.cfg; cat > setup.py <<'EOF'\nsetup()\nEOF", f"cat: setup.cfg: {missing}")
    assert state(*made).startswith("New files: setup.py\n")
    removed = ran("rm old.pyc; rm legacy.py; ls", f"rm: cannot remove 'old.pyc': {missing}")
    assert state(*removed) == "Files changed: legacy.py (removed)"


@pytest.mark.parametrize(
    ("command", "files"),
    [
        (f"{SED} && python a.py; git checkout a.py", "Files changed: a.py (as before)"),
        (f"{SED} && cp a.py a.bak && sed -i 's/x/y/' a.py; mv a.bak a.py", "Files changed: a.py (perhaps)"),
        ("cp a.py a.bak && " + SED + "; mv a.bak a.py", "Files changed: a.py (as before)"),
        ("cp b.example b.yml && sed -i 's/80/81/' b.yml && cp b.yml b.example", "Files changed: b.example"),
    ],
)
def test_what_a_command_takes_back_or_overwrites_itself_is_not_stated(command: str, files: str) -> None:
    text = state(*ran(command))
    assert text.splitlines()[0] == files and "timeout" not in text


def test_what_was_brought_back_before_an_edit_is_gone_and_the_edit_is_stated() -> None:
    before = edit("alpha = 1", "alpha = 2", "a.py")
    for back in ("git checkout a.py", "git reset --hard"):
        assert state(*before, *ran(f"{back} && {SED}")).endswith(f"a.py (×3)\n{EDITED}")


def test_the_empty_suffix_of_an_edit_in_place_may_stand_anywhere() -> None:
    assert state(*ran(SED.replace("-i", "-E -i ''"))) == f"Files changed: a.py\n{EDITED}"


def test_a_part_of_a_file_that_was_read_takes_no_edit_back() -> None:
    work = [*edit("alpha = 1", "alpha = 2", "a.py"), *ran("sed -i '55d' a.py")]
    rest = "\n".join(f"line_{n} = {n}" for n in range(30, 60))
    for looked in (
        [call("read_file", path="a.py", startLine=30, endLine=60), result(rest)],
        [call("view", path="a.py", view_range=[30, -1]), result(rest)],
        ran("cat a.py", f"import os\n... [20 lines truncated] ...\n{rest}"),
    ):
        assert "    -alpha = 1\n    +alpha = 2" in state(*work, *looked)
    whole = [call("read_file", path="a.py"), result(rest)]
    assert "+alpha = 2" not in state(*work, *whole)


def test_dates_and_keys_are_no_line_numbers() -> None:
    dated = [*edit("# Log", "# Log\n2026-05-01 fixed", "a.py"), *ran("sed -i '9d' a.py")]
    assert "+2026-05-01 fixed" in state(*dated, call("read_file", path="a.py"), result("# Log\n2026-05-01 fixed\nold"))
    keys = [f"{n}: service_{n}" for n in range(1, 9)]
    shown = state(*read("\n".join(keys), "a.yml"), *wrote("\n".join(keys).replace("service_5", "five"), "a.yml"))
    assert shown.endswith("     4: service_4\n    -5: service_5\n    +5: five")


def test_a_here_document_is_compared_as_the_shell_passes_it_on() -> None:
    old = "set -e\necho $HOME\nrun_all\ndone_now\n"
    document = "set -e\necho \\$HOME\nrun_some\ndone_now\n"
    shown = state(*ran("cat run.sh", old), *ran(f"cat > run.sh <<EOF\n{document}EOF"))
    assert shown.endswith("Changed in run.sh:\n     echo $HOME\n    -run_all\n    +run_some")


def test_a_file_in_another_folder_is_another_file() -> None:
    lines = "\n".join(f"alpha_{n} = {n}" for n in range(6))
    document = lines.replace("alpha_3 = 3", "beta = 3")
    written = f"cat > conf.py <<'EOF'\n{document}\nEOF"
    assert "+beta = 3" in state(*ran("cd one && cat conf.py", lines), *ran(f"cd one && {written}"))
    assert "beta" not in state(*ran("cd one && cat conf.py", lines), *ran(f"cd two && {written}"))


def test_what_python_only_prints_is_no_edit() -> None:
    printed = "python -c \"print(open('a.py').read().replace('user_name', 'login'))\""
    assert state(*ran(f"{printed}; sed -i '5d' app.py")) == "Files changed: app.py"
    assert "login" not in state(*ran(f"{printed} > out.txt"))


@pytest.mark.timeout(20)
def test_long_documents_appended_to_one_file_are_read_at_once() -> None:
    document = "\n".join("abcdefgh"[n % 8] for n in range(9_000))
    assert state(*ran("\n".join(f"cat >> a.py <<'EOF'\n{document}\nEOF" for _ in range(2)))).startswith("Files changed")


@pytest.mark.timeout(20)
def test_many_complaints_about_many_programs_are_read_at_once() -> None:
    line = "; ".join(f"rm old_{n}.txt" for n in range(240))
    printed = "\n".join(f"rm: cannot remove 'x{n}': No such file" for n in range(20_000))
    assert "removed" not in state(*ran(line, f"{printed}\n[exit code: 0]"))
    assert "old_239.txt (removed)" in state(*ran(line, "rm: cannot remove 'old_3.txt': No such file\n[exit code: 0]"))


def test_a_script_that_says_it_found_nothing_is_not_said_to_have_edited() -> None:
    code = f"s = open('a.py').read()\nif 'timeout = 5' not in s:\n    print('no match in a.py')\n{WRITES}"
    written = ran(f"cat > fix.py <<'EOF'\n{code}\nEOF")
    assert state(*written, *ran("python fix.py", "done")).endswith(EDITED)
    assert "timeout" not in state(*written, *ran("python fix.py", "no match in a.py"))


def test_a_check_that_fails_now_did_not_go_well_last() -> None:
    good = ran("python check.py | tail -5", "ok")
    assert "Last command that went well: $ python check.py" in state(*good, *edit("a = 1", "a = 2", "a.py"))
    failed = ran("python check.py | tail -5", "Traceback (most recent call last):\nNameError: name 'a' is not defined")
    assert "went well" not in state(*good, *edit("a = 1", "a = 2", "a.py"), *failed)
