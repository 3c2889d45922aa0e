"""What a sandbox host and its sessions take of the machine, as /proc tells it."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sandbox import HostStatus
from sandbox.host import processes


@dataclass(frozen=True, slots=True)
class Footprint:
    """A host's, at one moment."""

    host_bytes: int
    zygote_bytes: int
    open_files: int
    threads: int
    """The host's own: one for each client that it attends to."""
    processes: int
    """Those of sessions."""

    @classmethod
    def of(cls, host: HostStatus) -> "Footprint":
        return cls(
            host_bytes=_kilobytes(f"/proc/{host.pid}/status", "VmRSS:"),
            zygote_bytes=_kilobytes(f"/proc/{host.zygote}/status", "VmRSS:"),
            open_files=len(os.listdir(f"/proc/{host.pid}/fd")),
            threads=len(os.listdir(f"/proc/{host.pid}/task")),
            processes=len(session_pids(host)),
        )


def session_pids(host: HostStatus) -> set[int]:
    """The processes of every session: all that lies beneath the zygote."""
    return set(processes.below(host.zygote))


def unique_bytes(pids: Iterable[int]) -> int:
    """Memory that no other process shares."""
    return sum(_kilobytes(f"/proc/{pid}/smaps_rollup", "Private_") for pid in pids)


def _kilobytes(path: str, name: str) -> int:
    """The sum of the lines that begin so, in bytes."""
    return sum(int(line.split()[1]) * 1024 for line in Path(path).read_text().splitlines() if line.startswith(name))
