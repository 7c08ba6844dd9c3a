"""`co-tui lab` with policies as files."""

import json
from pathlib import Path

from tests.lab.test_lab import CHAT
from tests.support.here import Here

FAILING = "def decide(context):\n    return {'summarise': [10**6]} if context.fill > 0.1 else None\n"


def test_a_policy_by_path_is_replayed_and_its_failure_reported_once(here: Here, tmp_path: Path) -> None:
    (here.cwd / "mine.py").write_text(FAILING)
    file = tmp_path / "talk.jsonl"
    file.write_text(json.dumps({"id": "talk", "messages": CHAT}) + "\n")
    dump = tmp_path / "dump"
    options = ["--input", str(file), "--window", "500", "--json", "--dump", str(dump)]
    done = here("lab", *options, "--policy", "./mine.py", "--policy", "codex")
    assert done.code == 0 and [row["policy"] for row in done.objects] == ["mine.py", "codex"]
    assert sorted(folder.name for folder in dump.iterdir()) == ["codex", "mine.py"]
    assert done.err.count("The policy mine.py returned nonsense: 1000000 is not an index") == 1
    assert "balanced decided where it failed." in done.err
