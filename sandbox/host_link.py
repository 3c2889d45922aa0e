"""A client's way to the sandbox host: starts one when none is up, and speaks with it."""

import fcntl
import hashlib
import json
import os
import socket
import stat
import struct
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.environment import Environment
from sandbox.errors import KINDS, HostIsGone, NoSafeSandbox, SandboxFailed
from sandbox.frames import JSON, FrameReader, Message, send_json
from sandbox.walls.landlock import NEWEST_ABI

_MAX_ANSWER_BYTES = 256 << 20
_SHORT = 60
_TRIES = 3


@dataclass(frozen=True, slots=True)
class HostSettings:
    """How a host is to be started. A host that is up already keeps those it was started with."""

    session_idle_s: float = 1800.0
    host_idle_s: float = 300.0
    landlock_abi_max: int = NEWEST_ABI
    use_namespaces: bool = True
    use_cgroups: bool = True
    run_as: int | None = None
    """As root: start the host as this plain user, with that user's walls. None: as whoever asks."""


class HostLink:
    """The host of one home: where its socket is, how to start it, how to ask it something."""

    def __init__(self, home: Path, environment: Environment, settings: HostSettings) -> None:
        self._environment = environment
        self._settings = settings
        # Another version of our half, or other settings for the walls, is another host.
        self._owner = os.geteuid() if settings.run_as is None else settings.run_as
        self._runtime = runtime_folder(settings.run_as)
        key = f"{self._owner}\0{home.absolute()}\0{environment.digest}\0{settings!r}"
        self._name = f"partner-{hashlib.sha256(key.encode()).hexdigest()[:12]}"

    @property
    def socket_path(self) -> Path:
        return self._runtime / f"{self._name}.sock"

    @property
    def log_path(self) -> Path:
        return self._runtime / f"{self._name}.log"

    def connect(self, say: Callable[[str], None] | None = None) -> socket.socket:
        """A connection to the host, which is started when it is not up."""
        connection = self.connect_if_up()
        if connection is not None:
            return connection
        with self._only_one_starts():
            connection = self.connect_if_up()
            if connection is not None:
                return connection
            if say is not None:
                say("starting the sandbox host: loading its libraries takes a few seconds")
            self._start()
        connection = self.connect_if_up()
        if connection is None:
            raise SandboxFailed("the sandbox host started and is gone again", f"see {self.log_path}")
        return connection

    def ask_fresh(self, request: Message, say: Callable[[str], None] | None) -> tuple[socket.socket, Message]:
        """Ask on a new connection, and hand it over with the answer; a host that was just ending is started anew."""
        for _ in range(_TRIES):
            connection = self.connect(say)
            try:
                return connection, ask(connection, request)
            except HostIsGone:
                connection.close()
            except BaseException:
                connection.close()
                raise
        raise _host_is_gone()

    def connect_if_up(self) -> socket.socket | None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(self.socket_path))
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            return None
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        owner = struct.unpack("3i", credentials)[1]
        if owner != self._owner:
            connection.close()
            raise SandboxFailed(f"{self.socket_path} is the socket of user {owner}, not yours", "remove it")
        return connection

    def _start(self) -> None:
        configuration = {
            "name": self._name,
            "socket": str(self.socket_path),
            "environment": str(self._environment.folder),
            "session_idle_s": self._settings.session_idle_s,
            "host_idle_s": self._settings.host_idle_s,
            "landlock_abi_max": self._settings.landlock_abi_max,
            "use_namespaces": self._settings.use_namespaces,
            "use_cgroups": self._settings.use_cgroups,
        }
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONPATH": str(self._environment.code)}
        if "TMPDIR" in os.environ:
            environment["TMPDIR"] = os.environ["TMPDIR"]
        with open(self.log_path, "ab") as log:
            process = subprocess.Popen(  # noqa: S603  (the sandbox's interpreter and our own module)
                [str(self._environment.python), "-s", "-P", "-m", "sandbox.host"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                cwd="/",
                user=self._settings.run_as,
                group=self._settings.run_as,
                extra_groups=None if self._settings.run_as is None else [],
            )
            line, _ = process.communicate(json.dumps(configuration).encode())
        if not line:
            raise SandboxFailed("the sandbox host did not start", f"see {self.log_path}")
        _raise_error(json.loads(line))

    @contextmanager
    def _only_one_starts(self) -> Generator[None]:
        with open(self._runtime / f"{self._name}.lock", "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def ask(connection: socket.socket, request: Message, on_frame: Callable[[bytes, bytes], None] | None = None) -> Message:
    """Send a request and give its answer; frames that come before it go to `on_frame`."""
    reader = FrameReader(connection, _MAX_ANSWER_BYTES)
    with _host_is_there():
        send_json(connection, request)
    while (frame := _read(reader)) is not None:
        kind, body = frame
        message: Message = json.loads(body) if kind == JSON else {"output": None}
        if "output" not in message:
            _raise_error(message)
            return message
        if on_frame is not None:
            on_frame(kind, body)
    raise _host_is_gone()


def _read(reader: FrameReader) -> tuple[bytes, bytes] | None:
    with _host_is_there():
        return reader.read()


@contextmanager
def _host_is_there() -> Generator[None]:
    """What breaks in here is the connection to the host; what whoever listens raises is their own."""
    try:
        yield
    except ConnectionError as error:
        raise _host_is_gone() from error


def runtime_folder(user: int | None = None) -> Path:
    """A short path for sockets (they end at 108 bytes), for its owner alone."""
    owner = os.geteuid() if user is None else user
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    if given and len(given) < _SHORT and os.access(given, os.W_OK) and os.stat(given).st_uid == owner:
        folder = Path(given, "partner")
    else:
        folder = Path(f"/tmp/partner-{owner}")  # noqa: S108  (its owner and mode are checked below)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        os.chown(folder, owner, -1)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != owner or status.st_mode & 0o077:
        raise NoSafeSandbox(f"{folder} is not a folder of yours alone (0700)", f"remove it, or: chmod 700 {folder}")
    return folder


def _raise_error(message: Message) -> None:
    if error := message.get("error"):
        raise KINDS[error["kind"]](error["problem"], error["remedy"])


def _host_is_gone() -> HostIsGone:
    return HostIsGone(
        "the sandbox host ended while it was asked something; its sessions and their variables are lost",
        "try again: a new host is started; replay the cells whose variables are needed",
    )
