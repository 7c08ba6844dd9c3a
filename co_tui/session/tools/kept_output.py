"""Output of commands and servers that is too long for a result: kept whole in files, to be read in parts."""

import asyncio
import hashlib
import os
import re
import shutil
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from co_tui.agent.known_keys import KnownKeys
from co_tui.agent.permissions.verdict import VERDICT
from co_tui.events import ArtifactStored
from co_tui.paths import ensure_dir
from co_tui.session.processes.child_process import BoundedOutput
from co_tui.session.recorder import Recorder
from co_tui.session.turns.current_agent import CURRENT_AGENT
from co_tui.store.sync.files.synced_file import OnChange

SHOWN_BYTES: Final = 50_000
"""Of both streams of a command in one result."""
MOST_KEPT_BYTES: Final = 1 << 30
"""Of one stream."""
MOST_SESSION_BYTES: Final = 1 << 30
"""Of all outputs of a session."""
MOST_FREE_BYTES: Final = 1 << 27
"""Of them, while the session is open, for commands that run without a question: nobody sees how much these print."""
FOLDER: Final = "outputs"
_UNFINISHED: Final = ".unfinished-"
"""How the names of files begin that are still written; hidden files are neither synced nor in backups."""
_REFERENCE: Final = re.compile(r"output-[0-9a-f]{16}(?:-\d)?")
_NAME_CHARS: Final = 16
_PRIVATE: Final = "nothing of a private session is written to disk"


class KeptRoom:
    """How much more may be kept on disk, shared by streams that are written in several threads."""

    def __init__(self, left_bytes: int, whose: str, within: "KeptRoom | None" = None) -> None:
        """`whose` it is, in a few words; `within` is a room that this one is a part of."""
        self.why_none = f"{whose} may keep no more output"
        self._left = left_bytes
        self._within = within
        self._lock = threading.Lock()

    def take(self, wanted_bytes: int) -> int:
        """Take so much, or what is left; returns how much."""
        with self._lock:
            taken = max(0, min(wanted_bytes, self._left))
            taken = taken if self._within is None else self._within.take(taken)
            self._left -= taken
        return taken

    def give_back(self, freed_bytes: int) -> None:
        with self._lock:
            self._left += freed_bytes
        if self._within is not None:
            self._within.give_back(freed_bytes)


class KeptStream:
    """One stream of a command: its ends in memory, and once it is long, all of it in a file.

    Its methods block. A full disk is no failure of the command: the ends are shown with the reason."""

    def __init__(
        self,
        folder: Path,
        agent: str,
        reference: str = "",
        room: KeptRoom | None = None,
        keys: KnownKeys | None = None,
    ) -> None:
        """Without a reference it is named by its content, so that equal output is kept once. `room` is the session's,
        None for none of its own. `keys` are taken out."""
        self._filter = (keys or KnownKeys()).filter()
        self.agent = agent
        self.reference = reference
        self.kept_bytes = 0
        self.unfinished: Path | None = None
        self._folder = folder
        self._ends = BoundedOutput(SHOWN_BYTES)
        self._file: IO[bytes] | None = None
        self._digest = hashlib.sha256()
        self._failure = ""
        self._room = room or KeptRoom(MOST_KEPT_BYTES, "a command")

    @property
    def size_bytes(self) -> int:
        return self._ends.size_bytes

    @property
    def is_whole(self) -> bool:
        return self.kept_bytes == self.size_bytes

    @property
    def file(self) -> Path:
        """Where it is once it is complete."""
        return self._folder / f"{self.reference}.txt"

    def last(self, most_bytes: int) -> bytes:
        return self._ends.last(most_bytes)

    async def take(self, data: bytes) -> None:
        """Add what was printed; writes in a thread."""
        await self._take(self._filter.take(data))

    async def end(self) -> None:
        """Nothing more is printed."""
        await self._take(self._filter.end())

    async def _take(self, data: bytes) -> None:
        if self.size_bytes + len(data) <= SHOWN_BYTES:
            self._ends.add(data)
        else:
            await asyncio.to_thread(self._add, data)

    def _add(self, data: bytes) -> None:
        self._keep(data)
        self._ends.add(data)

    def _keep(self, data: bytes) -> None:
        if self._failure:
            return
        try:
            if self._file is None:
                self._begin()
            if self._file is not None:
                self._write(data)
        except OSError as error:
            self.discard(error.strerror or str(error))

    def _begin(self) -> None:
        handle, name = tempfile.mkstemp(dir=ensure_dir(self._folder), prefix=_UNFINISHED)
        self.unfinished, self._file = Path(name), os.fdopen(handle, "wb")
        self._write(self._ends.first(SHOWN_BYTES))  # nothing has left it yet

    def _write(self, data: bytes) -> None:
        assert self._file is not None
        room_bytes = self._room.take(min(len(data), MOST_KEPT_BYTES - self.kept_bytes))
        if data and not room_bytes and not self.kept_bytes:
            self.discard(self._room.why_none)
            return
        data = data[:room_bytes]
        self._file.write(data)
        self._digest.update(data)
        self.kept_bytes += len(data)

    def complete(self) -> bool:
        """Name the file; False if there is none, or an equal one already."""
        if self._file is None or self.unfinished is None:
            return False
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self.reference = self.reference or f"output-{self._digest.hexdigest()[:_NAME_CHARS]}"
            is_new = not self.file.exists()
            self.unfinished.replace(self.file)
        except OSError as error:
            self.discard(error.strerror or str(error))
            return False
        if not is_new:
            self._room.give_back(self.kept_bytes)  # in place of an equal one
        self._file.close()
        self._file = self.unfinished = None
        return is_new

    def copy_to(self, handle: int) -> None:
        """Write what was printed so far to an open file; only the ends if the rest is not kept."""
        if self._file is None or self.unfinished is None:
            os.write(handle, self.content_within(SHOWN_BYTES))
        else:
            self._file.flush()
            with self.unfinished.open("rb") as kept, open(handle, "wb", closefd=False) as copy:
                shutil.copyfileobj(kept, copy)
        os.write(handle, self._filter.end())

    def discard(self, why: str) -> None:
        """Remove the file; `why` is part of a sentence."""
        self._failure = why
        if self._file is not None and self.unfinished is not None:
            self._room.give_back(self.kept_bytes)
            self.kept_bytes = 0
            self.unfinished.unlink(missing_ok=True)
            with suppress(OSError):  # as from a full disk, when it writes what it has not written yet
                self._file.close()
        self._file = self.unfinished = None

    def begin_if_over(self, room_bytes: int) -> None:
        """Have a file for output that is too long for this room."""
        if self.size_bytes > room_bytes and not self.kept_bytes:
            self._keep(b"")
        if self._file is not None:
            self._file.flush()

    def content_within(self, room_bytes: int) -> bytes:
        """What was printed; or where all of it is, its start and its end. What shortens results keeps their start."""
        if self.size_bytes <= room_bytes:
            return self.last(room_bytes)
        first = f"[{self._where}]\n"
        ends = self._ends.text_within(room_bytes - len(first.encode()), lambda left: f"{left:,} bytes are left out")
        return f"{first}{ends}".encode()

    @property
    def _where(self) -> str:
        if self._failure:
            return f"Start and end of {self.size_bytes:,} bytes. The rest is not kept: {self._failure}"
        part = "all" if self.is_whole else f"the first {self.kept_bytes:,} of"
        reads = f"read_artifact({self.reference!r}) reads {part} {self.size_bytes:,} bytes in parts"
        return f"Start and end only; {reads}, recall searches them"


class KeptOutputs:
    """The kept outputs of one session, each agent's apart."""

    def __init__(self, session_folder: Path, recorder: Recorder, on_change: OnChange, *, private: bool) -> None:
        """Of a private session only the ends are shown: nothing is written to disk."""
        self._folder = session_folder / FOLDER
        self._recorder = recorder
        self._on_change = on_change
        self._private = private
        self.keys = recorder.keys
        self._growing: list[KeptStream] = []
        """Of commands that run in the background."""
        for left in self._folder.glob(f"*/{_UNFINISHED}*"):  # by a process that was killed
            left.unlink(missing_ok=True)
        kept_bytes = sum(file.stat().st_size for file in self._folder.glob("*/output-*.txt"))
        self._room = KeptRoom(MOST_SESSION_BYTES - kept_bytes, "this session")
        self._free_room = KeptRoom(MOST_FREE_BYTES, "commands that only read", self._room)

    def streams(self, command_id: str = "") -> tuple[KeptStream, KeptStream]:
        """For standard output and standard error. Those of a background command can be read while it runs."""
        name = f"output-{command_id[:_NAME_CHARS]}"
        room = self._free_room if VERDICT.get().only_reads and not command_id else self._room
        stdout, stderr = (
            KeptStream(self._own, CURRENT_AGENT.get(), f"{name}-{n}" if command_id else "", room, self._recorder.keys)
            for n in (1, 2)
        )
        if self._private:
            stdout.discard(_PRIVATE)
            stderr.discard(_PRIVATE)
        if command_id:
            self._growing += (stdout, stderr)
        return stdout, stderr

    async def shown(self, stdout: KeptStream, stderr: KeptStream, *, tool: str = "") -> tuple[bytes, bytes]:
        """Both streams, as far as a result holds them. With the name of the tool they are complete: what is kept of
        them is logged."""
        if tool:
            await stdout.end()
            await stderr.end()
        room = min(stderr.size_bytes, max(SHOWN_BYTES - stdout.size_bytes, SHOWN_BYTES // 2))
        rooms = {stdout: SHOWN_BYTES - room, stderr: room}
        for stream, most in rooms.items():
            await asyncio.to_thread(stream.begin_if_over, most)
        if tool:
            await self.store(tool, stdout, stderr)
        return stdout.content_within(rooms[stdout]), stderr.content_within(rooms[stderr])

    async def text(self, tool: str, text: str) -> str:
        """The text as far as a result holds it; what is longer is kept whole and logged."""
        data = text.encode(errors="replace")
        if len(data) <= SHOWN_BYTES:
            return text
        stream = self.streams()[0]
        await stream.take(data)
        await self.store(tool, stream)
        return stream.content_within(SHOWN_BYTES).decode(errors="replace")

    async def store(self, tool: str, *streams: KeptStream) -> None:
        """Complete what is kept of these streams, and log it."""
        for stream in streams:
            await stream.end()
            is_new = await asyncio.to_thread(stream.complete)
            self._growing = [each for each in self._growing if each is not stream]
            if is_new:
                self._on_change()
                outcome = "kept whole" if stream.is_whole else f"the first {stream.kept_bytes:,} bytes kept"
                what = f"{tool}: {stream.size_bytes:,} bytes"
                where, agent = stream.reference, stream.agent
                await self._recorder.record(ArtifactStored(what=what, where=where, outcome=outcome, agent=agent))

    def find(self, reference: str) -> Path | None:
        """The file of one of the current agent's outputs; None if it is not here."""
        return dict(self.all()).get(reference) if _REFERENCE.fullmatch(reference) else None

    def all(self) -> list[tuple[str, Path]]:
        """The current agent's outputs with their references, newest first."""
        own = self._own
        kept = [(file.stem, file) for file in own.glob("output-*.txt")]
        kept.sort(key=lambda each: each[1].stat().st_mtime, reverse=True)
        growing = [(each.reference, each.unfinished) for each in self._growing if each.file.parent == own]
        return [*((reference, file) for reference, file in growing if file is not None), *kept]

    @property
    def _own(self) -> Path:
        agent = CURRENT_AGENT.get()
        return self._folder / (hashlib.sha256(agent.encode()).hexdigest()[:_NAME_CHARS] if agent else "main")


def carry_outputs(source: Path, target: Path) -> None:
    """Give a fork the outputs of its source, which are never rewritten and so are shared on disk. Raises OSError."""
    for file in (source / FOLDER).glob("*/output-*.txt"):
        os.link(file, ensure_dir(target / FOLDER / file.parent.name) / file.name)
