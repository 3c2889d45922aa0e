"""A session's processes, seen from outside."""

import os
import select
import signal
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress

_TICKS = os.sysconf("SC_CLK_TCK")
_DYING_MS = 50


def children(pid: int) -> list[int]:
    """The children of every thread of a process; none when it is gone."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                found += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
    return found


def below(pid: int) -> Iterator[int]:
    """Every process beneath this one."""
    pending = children(pid)
    while pending:
        child = pending.pop()
        yield child
        pending += children(child)


def innermost_pid(pid: int) -> int:
    """A process's number in the innermost process namespace it is in."""
    for line in _read(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"NSpid:"):
            return int(line.split()[-1])
    return pid


def thread_names(pid: int) -> set[str]:
    """The names of a process's threads, without its main one."""
    names: set[str] = set()
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            if thread != str(pid):
                with open(f"/proc/{pid}/task/{thread}/comm", encoding="utf-8", errors="replace") as file:
                    names.add(file.read().strip())
    return names


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def kill_below(top: int, spare: set[int]) -> int:
    """Kill every process beneath `top` but these; again, until none is left to fork another. How many there were."""
    killed: set[int] = set()
    for _ in range(1000):
        found = [pid for pid in below(top) if pid not in spare and not is_dead(pid)]
        if not found:
            break
        for pid in found:
            kill(pid, signal.SIGSTOP)  # one that is stopped forks no more
        for pid in found:
            kill(pid)
        for pid in found:
            _await_end(pid)
        killed.update(found)
    return len(killed)


def _await_end(pid: int) -> None:
    """Wait a moment for a process that was killed: giving back what it held takes time."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return  # gone
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(_DYING_MS)
    finally:
        os.close(handle)


def kill_user(uid: int) -> None:
    """Kill whatever runs as this user. Only for users that are a session's own."""
    for pid, owner in _owners():
        if owner == uid:
            kill(pid)


def orphans(uids: range) -> Iterator[int]:
    """Processes of sessions' users whose session is gone: what is alive has a parent that keeps it."""
    for pid, owner in _owners():
        with suppress(OSError):
            if owner in uids and _stat(pid)[1] == b"1":
                yield pid


def count_threads(uid: int) -> int:
    """How many threads a user has on this machine."""
    count = 0
    for pid, owner in _owners():
        with suppress(OSError):
            count += len(os.listdir(f"/proc/{pid}/task")) if owner == uid else 0
    return count


def anonymous_bytes(pid: int) -> int:
    """Resident memory that is no file's; what is shared with a fork counts in both."""
    with suppress(OSError):
        return _kilobytes(f"/proc/{pid}/status", b"RssAnon:", b"RssShmem:")
    return 0


def proportional_bytes(pid: int, baseline: int) -> int:
    """The same with what is shared divided among those who share it; slower to find out.

    Root in a container may not look so closely: there each process is forgiven what a fresh kernel has.
    """
    with suppress(OSError):
        return _kilobytes(f"/proc/{pid}/smaps_rollup", b"Pss_Anon:", b"Pss_Shmem:")
    return max(0, anonymous_bytes(pid) - baseline)


def unlinked_bytes(pids: Iterable[int]) -> int:
    """What open files without a name take on disk."""
    found: dict[tuple[int, int], int] = {}
    for pid in pids:
        with suppress(OSError):
            for number in os.listdir(f"/proc/{pid}/fd"):
                with suppress(OSError):
                    status = os.stat(f"/proc/{pid}/fd/{number}")
                    if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                        found[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(found.values())


def cpu_seconds(pid: int) -> float:
    """Of a process and the children it has waited for."""
    with suppress(OSError):
        return sum(map(int, _stat(pid)[11:15])) / _TICKS
    return 0.0


def _owners() -> Iterator[tuple[int, int]]:
    """Every process and its real user. A folder's owner would not do: a process can make that root's."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError), open(f"/proc/{name}/status", "rb") as file:
                yield int(name), next(int(line.split()[1]) for line in file if line.startswith(b"Uid:"))


def is_dead(pid: int) -> bool:
    """Gone, or a zombie."""
    with suppress(OSError):
        return _stat(pid)[0] in (b"Z", b"X")
    return True


def _read(path: str) -> bytes:
    """A small file of the kernel's, without the cost of a buffered one."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)


def _kilobytes(path: str, *names: bytes) -> int:
    """The sum of these lines, in bytes."""
    return sum(int(line.split()[1]) * 1024 for line in _read(path).splitlines() if line.startswith(names))


def _stat(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat from the state on: what comes before may hold anything."""
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
