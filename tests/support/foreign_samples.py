"""A small file of each program with everything that it writes, and with records that nobody has seen yet."""
from pathlib import Path
from collections.abc import Callable
SAMPLES: dict[str, tuple[str, Callable[[Path], Path]]] = {}
