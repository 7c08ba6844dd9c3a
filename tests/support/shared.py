"""Real data next to the checkout; a clone elsewhere has none, and the tests that read it skip."""

import json
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[3] / "shared" / "data"

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no shared data beside this checkout")


def lines(name: str) -> list[dict[str, Any]]:
    with open(DATA / name, encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]
