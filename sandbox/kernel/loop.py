"""Takes a cell, runs it, says how it went; before it, leaves a copy of itself that can take over."""
# IPython is hardly typed, and numpy is only in the sandbox's environment.
# pyright: basic, reportMissingImports=false

import ast
import fcntl
import os
import random
import signal
import socket
import sys
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from sandbox.frames import Message, receive_packets, send_packets, to_json
from sandbox.kernel import shell as shells
from sandbox.kernel.import_policy import ImportNotAllowed, LibraryLost, check_imports, check_lost
from sandbox.kernel.kindness import be_kind
from sandbox.kernel.looks import Looks
from sandbox.kernel.own_modules import find_own_modules
from sandbox.kernel.shell import CellShell

_SEED_BITS = 32
_READ_S = 1.0
_SOON_S = 0.00005


class Kernel:
    """One session's variables and the socket through which its cells come."""

    def __init__(self, channel: socket.socket, shell: CellShell, request: Message, streams: Sequence[int]) -> None:
        self._channel = channel
        self._shell = shell
        self._display_bytes: int = request["display_bytes"]
        self._streams = streams
        self._disallowed = frozenset(request["disallowed_imports"])
        self._looks = Looks(os.getcwd())
        self._pid = os.getpid()
        self._is_fresh = True
        self._lost_libraries: frozenset[str] = frozenset()
        shell.report = self._report

    def serve(self) -> NoReturn:
        self._await("start")
        self._send({"frame": "ready", "pid": self._pid})
        while True:
            request = receive_packets(self._channel)
            if request is None:
                os._exit(0)
            if request["op"] == "run":
                self._run(request)

    def _run(self, request: Message) -> None:
        why_not, copy = self._leave_copy(request["checkpoint"])
        if copy == 0:
            return  # this is the copy, and it has taken over: the cell never ran for it
        done: Message = {"frame": "done", "id": request["id"], "checkpoint": why_not or "on"}
        self._is_fresh = False
        if request["seed"] is not None:
            _reseed(request["seed"])
        done |= self._execute(request["code"])
        if os.getpid() != self._pid:
            os._exit(0)  # a fork that a cell made and that came to the cell's end
        self._send(done)  # before the copy goes: if this fails, it takes over
        if copy:
            with suppress(OSError):
                os.kill(copy, signal.SIGKILL)
                os.waitpid(copy, 0)

    def _execute(self, code: str) -> Message:
        shell = self._shell
        shell.traceback_lines = []
        for number, kept in enumerate(self._streams):
            os.dup2(kept, number)  # an earlier cell may have closed or redirected it
        result: Any = None  # Any: IPython's
        try:
            tree = _parse(shell, code)
            self._looks.begin(tree)
            check_imports(tree, self._disallowed)
            check_lost(tree, self._lost_libraries, shell.user_ns)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            try:
                result = shell.run_cell(code, store_history=True)
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            shells.close_figures()
            error = result.error_before_exec or result.error_in_exec
        except BaseException as raised:
            error = raised
            if isinstance(raised, ImportNotAllowed | LibraryLost):
                shell.traceback_lines = [f"{type(raised).__name__}: {raised}"]
        shells.flush()
        return {
            "ok": error is None,
            "error": None if error is None else shells.describe(shell, error),
            "execution_count": max(1, shell.execution_count - 1),
            **self._looks.end(),
        }

    def _leave_copy(self, policy: str) -> tuple[str, int | None]:
        """Why there is no copy, or its process id; 0 in the copy itself, once it has become the kernel."""
        if policy == "off":
            return "off", None
        if self._is_fresh:
            return "", None  # the session's first process can fork what this one was until now
        if policy == "auto" and len(sys._current_frames()) > 1:
            return "off: a thread of the session's is running, and threads do not survive a copy", None
        told = tell = -1
        try:
            told, tell = os.pipe()
            copy = os.fork()
        except OSError as error:
            for descriptor in (told, tell):
                if descriptor >= 0:
                    os.close(descriptor)
            return f"off: no copy could be made: {error.strerror}", None
        if copy == 0:
            self._wait_as_copy(told, tell)
            return "", 0
        os.close(tell)
        os.read(told, 1)  # the host knows the copy before the cell can end this process
        os.close(told)
        return "", copy

    def _wait_as_copy(self, told: int, tell: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.setpgid(0, 0)
        self._send({"frame": "copy", "pid": os.getpid()})
        os.close(told)
        os.close(tell)
        request = self._await("resume")
        self._pid = os.getpid()
        self._lost_libraries = frozenset(request["lost_libraries"])
        self._send({"frame": "ready", "pid": self._pid})

    def _await(self, word: str) -> Message:
        """Wait for this word; what else still lies in the socket was meant for a kernel that is dead."""
        while (request := receive_packets(self._channel)) is not None:
            if request["op"] == word:
                return request
        os._exit(0)

    def _report(self, kind: str, content: dict[str, Any]) -> None:
        if os.getpid() == self._pid:
            shells.flush()
            self._let_host_read()
            message = {"frame": "output", "output": {"output_type": kind, **content}}
            if (size := len(to_json(message))) > self._display_bytes:
                note = f"a display of {size} bytes was left out: more than a cell may show"
                left_out = {"output_type": kind, "data": {"text/plain": note}, "metadata": {"truncated": size}}
                message = {"frame": "output", "output": {**content, **left_out}}
            self._send(message)

    def _let_host_read(self) -> None:
        """Wait until what was printed has been read: a display comes after it, and before what is printed next."""
        until = time.monotonic() + _READ_S
        for stream in self._streams[1:]:
            while _waiting_bytes(stream) and time.monotonic() < until:
                time.sleep(_SOON_S)

    def _send(self, message: Message) -> None:
        send_packets(self._channel, message)


def serve(channel: socket.socket, stdout: int, stderr: int, shell: CellShell, request: Message) -> NoReturn:
    """Become a session's kernel."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    streams = (os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), stdout, stderr)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    find_own_modules(os.getcwd())
    _reseed(request["seed"])
    be_kind()
    Kernel(channel, shell, request, streams).serve()


def _waiting_bytes(pipe: int) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def _reseed(seed: int) -> None:
    """Forks of one process would all draw the same numbers."""
    import numpy as np

    random.seed(seed)
    np.random.seed(seed % (1 << _SEED_BITS))


def _parse(shell: CellShell, code: str) -> ast.AST | None:
    """The cell as Python; None where it is none, which running it will say better."""
    try:
        return ast.parse(shell.transform_cell(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
