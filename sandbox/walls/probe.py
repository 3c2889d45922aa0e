"""Tries, from inside, what each wall should stop. What is shown as enforced was refused here."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from sandbox.walls.plan import FILES, IDENTITY, METADATA, NETWORK, PROCESSES

_OUR_OWN_PIDS = 9


def holes(outside: str, host_pid: int) -> list[tuple[str, str]]:
    """Each wall with a hole, and what got through. `outside` is a file of the host's own, `host_pid` the host."""
    found: list[tuple[str, str]] = []
    for wall, what, attempt in _attempts(outside, host_pid):
        try:
            attempt()
        except OSError:
            continue
        found.append((wall, what))
    return found


def _attempts(outside: str, host_pid: int) -> Iterator[tuple[str, str, Callable[[], object]]]:
    yield FILES, "read a file of the host's", lambda: Path(outside).read_bytes()
    yield FILES, "write a file of the host's", lambda: os.close(os.open(outside, os.O_WRONLY))
    yield FILES, "make a file beside it", lambda: os.close(os.open(f"{outside}.new", os.O_CREAT | os.O_WRONLY, 0o600))
    yield FILES, "list the process table", lambda: os.listdir("/proc")
    yield NETWORK, "make a TCP socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    yield NETWORK, "make a UDP socket", lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    yield NETWORK, "make a unix socket", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    yield IDENTITY, "be root", _be_root
    yield IDENTITY, "become root", lambda: os.setuid(0)
    if host_pid > _OUR_OWN_PIDS:  # in a process namespace of our own, a smaller number would be one of us
        yield PROCESSES, "signal the host", lambda: os.kill(host_pid, 0)
    yield METADATA, "change a mode of the host's", lambda: os.chmod(outside, 0o644)
    yield METADATA, "change a time of the host's", lambda: os.utime(outside, (1, 1))
    yield METADATA, "cut a file of the host's", lambda: os.truncate(outside, 0)


def _be_root() -> None:
    if 0 not in os.getresuid():
        raise PermissionError("not root")
