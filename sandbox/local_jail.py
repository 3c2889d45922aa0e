"""Sessions as self-walled forks on this machine, kept by the sandbox host."""

import json
import os
import socket
import threading
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from sandbox.backend import OnOutput
from sandbox.cell import Cell, CellError, CellResult, HostStatus, Limits, Output, SessionInfo, SessionSpec, Touched
from sandbox.environment import find_environment
from sandbox.errors import SandboxFailed, SessionIsGone, UnfitWorkDirectory
from sandbox.frames import STDOUT, Message
from sandbox.host_link import HostLink, HostSettings, ask

_TOUCHED = ("created", "changed", "deleted", "read", "listed", "missed", "asked")


class LocalJail:
    """The backend that needs nothing but the kernel and the sandbox's environment."""

    def __init__(
        self,
        home: Path,
        settings: HostSettings | None = None,
        environment: Path | None = None,
        say: Callable[[str], None] | None = None,
        libraries: Mapping[str, Path] | None = None,
    ) -> None:
        self._environment = find_environment(environment, libraries)
        self._link = HostLink(home, self._environment, settings or HostSettings())
        self._say = say

    @property
    def digest(self) -> str:
        """Names everything that a cell can import."""
        return self._environment.digest

    @property
    def log_path(self) -> Path:
        return self._link.log_path

    def open_session(self, spec: SessionSpec) -> "JailSession":
        _check_work(spec.work, self._environment.folder)
        connection, answer = self._link.ask_fresh({"op": "open", **spec.model_dump(mode="json")}, self._say)
        return JailSession(self._link, connection, SessionInfo(**answer["info"]), is_new=answer["is_new"])

    def close_session(self, name: str) -> bool:
        connection = self._link.connect_if_up()
        if connection is None:
            return False
        with connection, suppress(SandboxFailed):  # a host that is gone has taken its sessions along
            return bool(ask(connection, {"op": "close", "session": name})["was_open"])
        return False

    def session_names(self) -> frozenset[str]:
        host = self.status()
        return frozenset(session.name for session in host.sessions) if host else frozenset()

    def check(self, code: str, files: Mapping[str, Path], limits: Limits, seed: int = 0) -> CellResult:
        request: Message = {
            "op": "check",
            "code": code,
            "files": {name: str(path.absolute()) for name, path in files.items()},
            "limits": limits.model_dump(mode="json"),
            "seed": seed,
        }
        _check_names(files)
        with self._link.connect(self._say) as connection:
            return _run(connection, request, None)

    def status(self) -> HostStatus | None:
        """The host that is up, or None."""
        connection = self._link.connect_if_up()
        if connection is None:
            return None
        with connection:
            return HostStatus(**ask(connection, {"op": "status"}))

    def start(self) -> HostStatus:
        """Have a host up, and say what walls it found."""
        connection, answer = self._link.ask_fresh({"op": "status"}, self._say)
        connection.close()
        return HostStatus(**answer)

    def stop(self) -> int:
        """Close every session and end the host; how many sessions there were."""
        connection = self._link.connect_if_up()
        if connection is None:
            return 0
        with connection:
            return ask(connection, {"op": "stop"})["closed"]


class JailSession:
    """A client's hold on a session. Several may hold the same one; it runs one cell at a time."""

    def __init__(self, link: HostLink, connection: socket.socket, info: SessionInfo, *, is_new: bool) -> None:
        self._link = link
        self._connection = connection
        self._lock = threading.Lock()
        self.info = info
        self.is_new = is_new

    def run(self, cell: Cell, on_output: OnOutput | None = None) -> CellResult:
        request: Message = {
            "op": "run",
            "session": self.info.name,
            "code": cell.code,
            "seed": cell.seed,
            "checkpoint": cell.checkpoint,
            "limits": {"timeout_s": cell.timeout_s} if cell.timeout_s is not None else {},
        }
        with self._lock:
            if _has_hung_up(self._connection):  # nothing of the cell was sent, so nothing of it was run
                raise SessionIsGone(f"the host of session {self.info.name} has ended", "open it again")
            return _run(self._connection, request, on_output)

    def interrupt(self) -> bool:
        return self._ask_aside({"op": "interrupt", "session": self.info.name}).get("was_running", False)

    def reset(self) -> None:
        self._ask_aside({"op": "reset", "session": self.info.name})

    def close(self) -> None:
        with suppress(SandboxFailed):  # a host that is gone has taken its sessions along
            self._ask_aside({"op": "close", "session": self.info.name})
        self.release()

    def release(self) -> None:
        self._connection.close()

    def _ask_aside(self, request: Message) -> Message:
        """On a connection of its own: the session's own may be waiting for a cell."""
        connection = self._link.connect_if_up()
        if connection is None:
            return {}
        with connection:
            return ask(connection, request)


def _has_hung_up(connection: socket.socket) -> bool:
    try:
        return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


class _Outputs:
    """Puts a cell's outputs together as they come."""

    def __init__(self, on_output: OnOutput | None) -> None:
        self._on_output = on_output
        self._outputs: list[Output] = []
        self._parts: list[str] = []
        decoder = getincrementaldecoder("utf-8")
        self._decoders = {"stdout": decoder("replace"), "stderr": decoder("replace")}

    def take(self, kind: bytes, body: bytes) -> None:
        if kind in (b"o", b"e"):
            name = "stdout" if kind == STDOUT else "stderr"
            self._take_text(name, self._decoders[name].decode(body))
        else:
            self._take_output(json.loads(body)["output"])

    def finish(self, error: CellError | None) -> tuple[Output, ...]:
        for name, decoder in self._decoders.items():
            self._take_text(name, decoder.decode(b"", final=True))
        if error is not None:
            self._take_output({"output_type": "error", **error.model_dump(exclude={"errno"}, mode="json")})
        self._join()
        return tuple(self._outputs)

    def _take_text(self, name: str, text: str) -> None:
        if not text:
            return
        if not self._parts or self._outputs[-1].get("name") != name:
            self._join()
            self._outputs.append({"output_type": "stream", "name": name, "text": ""})
        self._parts.append(text)
        if self._on_output is not None:
            self._on_output({"output_type": "stream", "name": name, "text": text})

    def _take_output(self, output: Output) -> None:
        self._join()
        self._outputs.append(output)
        if self._on_output is not None:
            self._on_output(output)

    def _join(self) -> None:
        if self._parts:
            self._outputs[-1]["text"] = "".join(self._parts)
            self._parts = []


def _run(connection: socket.socket, request: Message, on_output: OnOutput | None) -> CellResult:
    outputs = _Outputs(on_output)
    result = ask(connection, request, outputs.take)["result"]
    error = CellError(**result.pop("error")) if result["error"] else None
    touched = {name: result.pop(name) for name in _TOUCHED} | {"is_complete": result.pop("observed_all")}
    result.pop("error", None)
    return CellResult(**result, error=error, outputs=outputs.finish(error), touched=Touched(**touched))


def _check_work(work: str, environment: Path) -> None:
    if not os.path.isabs(work) or not os.path.isdir(work):
        raise UnfitWorkDirectory(
            f"{work!r} is no directory with an absolute path", "make it first, and name it in full"
        )
    real = os.path.realpath(work)
    is_top = real.count("/") < 2  # "/", "/home", "/tmp"
    if is_top or environment.is_relative_to(real) or real == os.path.expanduser("~"):
        raise UnfitWorkDirectory(f"{work} is not for cells: they own their work directory", "make a folder for them")
    if real != work:
        raise UnfitWorkDirectory(f"{work} leads to {real}", "name the real path: links are not followed")


def _check_names(files: Mapping[str, Path]) -> None:
    for name in files:
        if not name or name.startswith("/") or ".." in name.split("/") or "\0" in name:
            raise UnfitWorkDirectory(f"{name!r} cannot be a file's name inside a check", "use a relative path")
