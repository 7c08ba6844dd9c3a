import os
import sys

# Keep compiled modules and rewritten assertions: making them again takes each test process seven seconds.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
