"""The app's heap: what is large is given back at once, and threads have no heaps of their own."""

import ctypes
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

REPORT = textwrap.dedent("""
    import ctypes, sys, threading

    from co_tui.ui.heavy_imports import keep_heap_compact

    keep_heap_compact()
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    libc.fopen.restype = ctypes.c_void_p
    libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
    libc.fclose.argtypes = [ctypes.c_void_p]

    class Figures(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in "arena free small mapped mapped_bytes".split()]
        _fields_ += [(f"other_{n}", ctypes.c_size_t) for n in range(5)]

    libc.mallinfo2.restype = Figures
    libc.free(libc.malloc(8_000_000))
    before = libc.mallinfo2().mapped
    libc.malloc(500_000)
    started = threading.Barrier(4)

    def work():
        started.wait()
        libc.malloc(2_000)
        started.wait()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    report = libc.fopen(sys.argv[1].encode(), b"w")
    libc.malloc_info(0, report)
    libc.fclose(report)
    print(libc.mallinfo2().mapped - before, open(sys.argv[1]).read().count("<heap nr"))
""")


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="another C library")
def test_large_blocks_stay_outside_of_the_one_heap(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", REPORT, str(tmp_path / "heaps.xml")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=60)
    mapped, heaps = map(int, done.stdout.split())
    assert (mapped, heaps) == (1, 1)
