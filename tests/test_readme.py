"""README is a page people read; the pages for those who change the code name what there is."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_LINES = 260


def test_the_two_commands_come_first() -> None:
    block = "pip install uv && uv run co-tui          # start\npip install uv && .ci/locked pytest      # test\n"
    assert 0 < README.index(block) < 1_000


def test_it_stays_a_page_and_leads_to_the_rest() -> None:
    assert README.count("\n") <= MOST_LINES
    links = set(re.findall(r"\]\(([^)#:]+)\)", README))
    assert len(links) > 20 and [link for link in sorted(links) if not (ROOT / link).exists()] == []


def test_every_path_that_the_pages_about_the_code_name_exists() -> None:
    pages = [(ROOT / folder / "README.md").read_text(encoding="utf-8") for folder in ("co_tui", "tests")]
    text = "\n".join(pages)
    named = set(re.findall(r"`([\w.-]*/[\w./-]*|[\w-]+\.(?:py|toml))`", text))
    named |= set(re.findall(r"(?:tests|\.ci)/[\w./-]*\w", text))
    assert len(named) > 80
    assert [path for path in sorted(named) if not any((root / path).exists() for root in (ROOT, ROOT / "co_tui"))] == []
    modules = set(re.findall(r"python -m (tests[\w.]*)", text))
    found = [(ROOT / each.replace(".", "/")) for each in sorted(modules)]
    assert [file for file in found if not (file.with_suffix(".py").exists() or file.is_dir())] == []


def test_pictures_are_ours_and_need_nothing_else() -> None:
    pictures = re.findall(r"(?:src|srcset)=\"([^\"]+)\"|!\[[^\]]*\]\(([^)]+)\)", README)
    files = {ROOT / (one or other) for one, other in pictures}
    assert {file.name for file in files} == {"co-tui-dark.svg", "co-tui-light.svg", "demo.svg"}
    for file in files:
        drawing = file.read_text()
        assert "<script" not in drawing and "/tmp" not in drawing and "/home" not in drawing
        assert set(re.findall(r"https?://[^\"' <]+", drawing)) <= {"http://www.w3.org/2000/svg"}
        assert not re.search(r"href=\"(?!#)|url\(", drawing)
