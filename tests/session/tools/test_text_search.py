"""`search_files` and `find_files`: what they find, what they leave out, and what cannot stall them."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelRetry

from co_tui.session.tools.folder import text_search
from co_tui.session.tools.folder.text_search import LINE_CHARS, TextSearch, find_ripgrep, is_simple
from tests.session.lens.test_looking import tool
from tests.support.waiting import PATIENCE_S

HIDDEN = "[1 hidden entries omitted; name a hidden path explicitly to include it]"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    files = {
        "a.py": "import os\nneedle = 1\n", "src/b.py": "needle\r\nother\n", "src/deep/c.ts": "no\nneedle here\n",
        "src/.hidden": "needle\n", "build/d.py": "needle\n", ".gitignore": "build/\n*.log\n", "x.log": "needle\n",
        ".github/w.yml": "needle\n", "src/d.tsx": "needle\n",
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "pic.png").write_bytes(b"\x89PNG\0needle")
    (folder / "latest").symlink_to("src")
    (folder / "same.py").symlink_to("a.py")
    return folder


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ({}, ["a.py", "same.py", "src/b.py", "src/d.tsx", "src/deep/c.ts"]),
        ({"path": "src"}, ["src/b.py", "src/d.tsx", "src/deep/c.ts"]),
        ({"path": "latest"}, ["latest/b.py", "latest/d.tsx", "latest/deep/c.ts"]),
        ({"path": "src/b.py"}, ["src/b.py"]),
        ({"path": "build"}, ["build/d.py"]),
        ({"path": "x.log"}, ["x.log"]),
        ({"path": ".github"}, [".github/w.yml"]),
        ({"include_glob": "*.py"}, ["a.py", "same.py", "src/b.py"]),
        ({"include_glob": "**/*.py"}, ["a.py", "same.py", "src/b.py"]),
        ({"include_glob": "src/**/*.{ts,tsx}"}, ["src/d.tsx", "src/deep/c.ts"]),
        ({"include_glob": "src/*.ts"}, ["src/deep/c.ts"]),
        ({"include_glob": "deep/*", "path": "src"}, ["src/deep/c.ts"]),
        ({"include_glob": "!*.py"}, ["src/d.tsx", "src/deep/c.ts"]),
        ({"include_glob": ".github/*"}, [".github/w.yml"]),
        ({"include_glob": "*.md"}, []),
    ],
)
async def test_where_a_text_is_found(folder: Path, arguments: dict[str, Any], files: list[str]) -> None:
    found = await tool(folder, "search_files", pattern="needle", **arguments)
    lines = [line for line in found.split("\n") if line != "No matches found."]
    assert [line.split(":")[0] for line in lines] == files


async def test_a_line_is_shown_with_its_number_and_a_long_one_around_its_match(folder: Path) -> None:
    (folder / "long.js").write_text("x" * 50_000 + "needle" + "y" * 50_000)
    found = (await tool(folder, "search_files", pattern=r"^needle$|x?needle.*")).split("\n")
    assert found[0] == "a.py:2:needle = 1" and "src/b.py:1:needle" in found
    (long,) = [line for line in found if line.startswith("long.js:1:")]
    assert "xneedley" in long and len(long) < LINE_CHARS + 20


async def test_results_and_files_are_bounded_and_what_is_left_out_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_search, "LARGEST_FILE_BYTES", 1_000)
    (folder / "many.txt").write_text("needle\n" * 100)
    (folder / "zlarge.txt").write_text("needle\n" * 1_000)
    assert "[1 files skipped (too large or unreadable): zlarge.txt]" in await tool(
        folder, "search_files", pattern="needle", include_glob="z*"
    )
    monkeypatch.setattr(text_search, "MOST_CHARS", 300)
    assert (await tool(folder, "search_files", pattern="needle", include_glob="many*")).endswith("matches]")


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(", "Invalid regex pattern: missing )"),
        ("x" * 3_000, "3,000 characters"),
        ("(" * 900 + ")" * 900, "Invalid regex pattern"),
        (r"(a|a)+b", "takes too long on line 1 of hard.txt"),
    ],
)
async def test_a_bad_expression_is_a_sentence_and_nothing_stops_meanwhile(
    folder: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, words: str
) -> None:
    monkeypatch.setattr(text_search, "SLOW_MATCH_S", 0.05)
    (folder / "hard.txt").write_text("a" * 60)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    with pytest.raises(ModelRetry, match=words.replace("(", r"\(").replace(")", r"\)")):
        await tool(folder, "search_files", pattern=pattern)
    assert ticks or "takes too long" not in words
    ticking.cancel()


async def test_a_search_that_was_cancelled_ends(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_search, "LONGEST_S", 600)
    (folder / "hard.txt").write_text("\n".join(["a" * 18] * 10_000))  # each line takes a while, and all take minutes
    searching = asyncio.ensure_future(tool(folder, "search_files", pattern="(?:a|a)+(?=b)"))
    await asyncio.sleep(0.1)
    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching
    loop = asyncio.get_running_loop()
    await asyncio.wait_for(loop.shutdown_default_executor(), PATIENCE_S)  # waits for its threads


@pytest.mark.parametrize(
    ("pattern", "simple"),
    [
        ("needle", True), (r"def \w+\(", True), ("[a-z_]+ = ", True), ("(?:a|b)+$", True), (r"\bfoo\b", True),
        (r"\Afoo", False), ("(?i)foo", True), ("(?s)foo.", False), ("foo(?!bar)", False), ("a++", False),
        ("[[:alpha:]]", False),
        (r"\<foo", False), ("[a&&b]", False), (r"(?P<x>a)", False), (r"foo\Z", False),
    ],
)  # fmt: skip
def test_only_expressions_that_mean_the_same_everywhere_are_tried_on_whole_texts(pattern: str, simple: bool) -> None:
    assert is_simple(pattern) is simple


@pytest.mark.parametrize("pattern", ["needle", r"^needle \d+$", r"needle\s*$", r"x|needle 8\b", "[^n]eedle"])
async def test_with_and_without_ripgrep_the_same_is_found(
    tmp_path: Path, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    files = [f"{n % 20}/f {n}.txt" for n in range(600)]
    for number, name in enumerate(files):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"other\r\nneedle %d\r\n" % number if number % 7 else b"beedle\nneedle  ")
    with_it = TextSearch(pattern).run(files, tmp_path, 1_000, inside=tmp_path)
    monkeypatch.setattr(text_search, "find_ripgrep", lambda folder: None)
    assert with_it == TextSearch(pattern).run(files, tmp_path, 1_000, inside=tmp_path) and with_it.lines


def test_no_ripgrep_of_the_folder_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "rg"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(program.parent), "bin", os.environ["PATH"]]))
    monkeypatch.chdir(tmp_path)
    assert find_ripgrep(tmp_path) is None and find_ripgrep(tmp_path / "elsewhere") == str(program)
    files = [f"{n}.txt" for n in range(300)]
    for name in files:
        (tmp_path / name).write_text("needle\n")
    assert len(TextSearch("needle").run(files, tmp_path, 1_000, inside=tmp_path).lines) == 300
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("pattern", "path", "lines"),
    [
        ("*.py", ".", ["a.py", "same.py"]),
        ("**/*.ts*", ".", ["src/d.tsx", "src/deep/c.ts", HIDDEN]),
        ("s*/", ".", ["src/"]),
        ("*", "src", ["src/b.py", "src/d.tsx", "src/deep/", HIDDEN]),
        ("build/*", ".", ["build/d.py", "[all of these are ignored by .gitignore or .ignore]"]),
        (".github/*", ".", [".github/w.yml"]),
        ("*.md", ".", ["No matches found."]),
    ],
)  # fmt: skip
async def test_which_files_are_found(folder: Path, pattern: str, path: str, lines: list[str]) -> None:
    assert (await tool(folder, "find_files", pattern=pattern, path=path)).split("\n") == lines


async def test_a_listing_says_what_is_no_ordinary_file(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(folder / "queue")
    (folder / "out").symlink_to(tmp_path)
    (folder / "gone").symlink_to("nowhere")
    lines = (await tool(folder, "list_directory")).split("\n")
    assert {"a.py  (21 bytes)", "latest/", "src/", "queue  (pipe, socket or device)"} <= set(lines)
    assert "out  (link out of the folder)" in lines and not [each for each in lines if "gone" in each]


@pytest.mark.parametrize(
    ("name", "path"), [("search_files", "nowhere"), ("find_files", "nowhere"), ("find_files", "..")]
)
async def test_a_path_that_is_not_there_is_said(folder: Path, name: str, path: str) -> None:
    with pytest.raises(ModelRetry, match=r"not found|Not a directory|outside"):
        await tool(folder, name, pattern="x", path=path)
