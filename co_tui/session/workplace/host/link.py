"""Asks the program on the other host. Starts it with the first question, and again when the connection was lost."""

import contextlib
import json
import os
import queue
import subprocess
import threading
from typing import IO, Any, Final, NamedTuple, cast

from co_tui.session.workplace.host.address import HostUnreachable
from co_tui.session.workplace.host.answers import ANSWERS, has_too_many_values
from co_tui.session.workplace.host.connection import CONNECTING_S, Connection
from co_tui.session.workplace.host.program.remote_program import ERRORS, SIZE, write_frame
from co_tui.session.workplace.host.sent_program import NO_PYTHON, READY, sent_modules, start_command
from co_tui.session.workplace.host.values import decoded, encoded

ANSWER_S: Final = 120.0
"""The longest that a question takes there; a snapshot reads for 60 s at most."""
CLOSING_S: Final = 2.0
MOST_SAID_BYTES: Final = 10_000
_ERRORS: Final = {each.__name__: each for each in ERRORS}


class HostLink:
    """Blocks: call it in a thread. Several may ask at the same time."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._program: _RunningProgram | None = None
        self._starting = threading.Lock()
        self.began: dict[str, Any] = {}
        """What the host said about the folder."""

    def ask(self, call: str, *given: Any, session_id: str = "", again: bool = True) -> Any:
        """The answer to a question; with `again`, a lost connection is renewed and the question asked once more.

        Raises `HostUnreachable`, and what the call raises there: `NotCovered`, `SnapshotsUnusable`, OSError.
        """
        known = self._program
        try:
            return self._started().ask(call, given, session_id)
        except HostUnreachable:
            if not again or known is None:  # a new connection that fails will fail again
                raise
            return self._started().ask(call, given, session_id)

    def _started(self) -> "_RunningProgram":
        with self._starting:
            if self._program is None or self._program.is_over:
                self._program = program = _RunningProgram(self.connection)
                try:
                    self.began = program.ask("begin", (self.connection.address.folder,), "")
                except BaseException:
                    program.close()
                    raise
            return self._program

    def session(self, session_id: str) -> "SessionLink":
        return SessionLink(self, session_id)

    def close(self) -> None:
        if self._program is not None:
            self._program.close()


class SessionLink(NamedTuple):
    """The same for one session."""

    link: HostLink
    session_id: str

    def ask(self, call: str, *given: Any, again: bool = True) -> Any:
        return self.link.ask(call, *given, session_id=self.session_id, again=again)


class _Waiting(NamedTuple):
    """A question that is not answered yet."""

    answer: queue.SimpleQueue[Any]
    most_bytes: int


class _RunningProgram:
    """The running program. Raises `HostUnreachable` if it does not start."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._process = subprocess.Popen(
            connection.command(start_command()),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=connection.environ, start_new_session=True,
        )  # fmt: skip
        self._said = bytearray()
        self._answers: dict[int, _Waiting] = {}
        self._last = 0
        self._order = threading.Lock()
        self.is_over = False
        self._ready = threading.Event()
        self._errors = threading.Thread(target=self._read_errors, daemon=True)
        self._errors.start()
        self._answering = threading.Thread(target=self._read, daemon=True)
        self._answering.start()
        with contextlib.suppress(OSError, ValueError):  # it may be over already, with its pipes closed
            self._input.write(sent_modules())
            self._input.flush()
        if not self._ready.wait(CONNECTING_S) or self.is_over:
            self.close()
            raise self._failure()

    @property
    def _input(self) -> IO[bytes]:
        return cast("IO[bytes]", self._process.stdin)

    def ask(self, call: str, given: Any, session_id: str) -> Any:
        answer: queue.SimpleQueue[Any] = queue.SimpleQueue()
        form = ANSWERS[call]
        asked = {"call": call, "given": encoded(given), "session": session_id}
        with self._order:
            self._last += 1
            number = self._last
            self._answers[number] = _Waiting(answer, form.most_bytes)
            try:
                if self.is_over:
                    raise OSError
                write_frame(cast(Any, self._input), {"id": number, **asked})
            except (OSError, ValueError):
                self.is_over = True  # the thread that reads may not know yet
                answer.put(None)
        try:
            found = answer.get(timeout=ANSWER_S)
        except queue.Empty:
            self.close()
            found = None
        finally:
            self._answers.pop(number, None)
        if found is None:
            raise self._failure()
        if "error" in found:
            raise _error(found)
        try:
            return form.read(decoded(found.get("value")))
        except (ValueError, TypeError, RecursionError) as error:
            host = self._connection.address.host
            raise HostUnreachable(f"{host} gave an answer that co-tui does not understand.") from error

    def _read(self) -> None:
        """Hand out the answers; anything that is not one ends the connection."""
        source = cast(Any, self._process.stdout)
        try:
            printed = 0
            while line := source.readline(1_000):
                printed += len(line)
                if line.endswith(READY):
                    self._ready.set()
                    break
                if printed > MOST_SAID_BYTES:
                    raise ValueError
            while (found := self._read_answer(source)) is not None:
                if (waiting := self._answers.get(found["id"])) is not None:
                    waiting.answer.put(found)
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            pass
        self._end()

    def _read_answer(self, source: IO[bytes]) -> Any:
        """The next answer; None at the end. Raises ValueError for one that is larger than any that is waited for."""
        header = source.read(SIZE.size)
        if len(header) < SIZE.size:
            return None
        size = SIZE.unpack(header)[0]
        if size > max((each.most_bytes for each in list(self._answers.values())), default=0):
            raise ValueError(f"an answer of {size:,} bytes")
        data = source.read(size)
        if len(data) != size or has_too_many_values(data):
            return None
        return json.loads(data)

    def _end(self) -> None:
        self.is_over = True
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        self._errors.join(CLOSING_S)
        for each in (self._process.stdin, self._process.stdout, self._process.stderr):
            with contextlib.suppress(OSError):
                cast("IO[bytes]", each).close()
        self._ready.set()
        with self._order:
            for waiting in self._answers.values():
                waiting.answer.put(None)

    def _read_errors(self) -> None:
        source = cast("IO[bytes]", self._process.stderr)
        with contextlib.suppress(OSError, ValueError):
            while piece := os.read(source.fileno(), 4_096):
                self._said = (self._said + piece)[-MOST_SAID_BYTES:]

    def _failure(self) -> HostUnreachable:
        if self._process.returncode == NO_PYTHON:
            host = self._connection.address.host
            return HostUnreachable(
                f"{host} has no Python 3.10 or newer, which co-tui needs there. Install python3 there."
            )
        return self._connection.failure(self._said.decode(errors="replace"))

    def close(self) -> None:
        self.is_over = True
        with contextlib.suppress(OSError):
            self._process.kill()
        self._answering.join(CLOSING_S)


def _error(found: dict[str, Any]) -> Exception:
    text = str(found.get("text", ""))[:2_000]
    kind = _ERRORS.get(str(found["error"]), OSError)
    return kind(text)
