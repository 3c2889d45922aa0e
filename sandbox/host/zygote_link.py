"""The host's hold on its zygote: starts it with an empty environment, asks it for sessions, notices its end."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

from sandbox.frames import Message, receive_packets, send_with_descriptors
from sandbox.linux import PR_SET_PDEATHSIG, libc

_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",  # the same inputs give the same bytes
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",  # threads do not survive a fork
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "_RJEM_MALLOC_CONF": "background_thread:false",
}


class ZygoteDied(Exception):
    """The zygote ended before it was ready."""


class ZygoteLink:
    """One zygote. `ready` says what it found when it started."""

    def __init__(self, scratch: str, on_death: Callable[[], None]) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket = ours
        self._lock = threading.Lock()
        self._on_death = on_death
        # The zygote finds our half of the environment where we found it; `-s -P`: nothing from a home or a folder.
        self._process = subprocess.Popen(  # noqa: S603  (our own interpreter and our own line of code)
            [sys.executable, "-s", "-P", "-c", _START],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            env={
                **_ENVIRONMENT,
                "HOME": scratch,
                "MPLCONFIGDIR": scratch,
                "TMPDIR": scratch,
                "PARTNER_SANDBOX_PATH": next(path for path in sys.path if os.path.isdir(f"{path}/sandbox/host")),
                "PARTNER_SANDBOX_SOCKET": str(theirs.fileno()),
            },
            preexec_fn=_die_with_parent,  # noqa: PLW1509  (before any thread of ours is started)
            start_new_session=True,
        )
        theirs.close()
        ready = receive_packets(self._socket)
        if ready is None:
            raise ZygoteDied(f"it ended with code {self._process.wait()} while loading its libraries")
        self.ready: Message = ready
        threading.Thread(target=self._listen, name="zygote", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def fork(self, request: Message, descriptors: list[int]) -> None:
        """Ask for a session. How it went is told on the session's own socket."""
        with self._lock:
            send_with_descriptors(self._socket, request, descriptors)

    def _listen(self) -> None:
        while receive_packets(self._socket) is not None:
            continue
        self._process.wait()
        self._on_death()


_START = """
import os, sys
sys.path.insert(0, os.environ["PARTNER_SANDBOX_PATH"])
number = int(os.environ["PARTNER_SANDBOX_SOCKET"])
if number != 3:
    os.dup2(number, 3); os.close(number)
from sandbox import zygote
zygote.main()
"""


def _die_with_parent() -> None:
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
