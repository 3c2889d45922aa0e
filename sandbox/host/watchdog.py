"""What the kernel does not limit for us is measured from outside while a cell runs, and between cells."""

import time
from typing import Any, Final, Literal

from sandbox.host import folder, processes
from sandbox.host.session import Session

_EVERY_S: Final = 0.1
_DISK_EVERY_S: Final = 0.25
_SHARE_OF_TIME: Final = 20
"""Measuring takes at most one part in so many of the time."""

Exceeded = tuple[Literal["memory", "disk", "cpu", "processes"], str]


class Watchdog:
    """Memory where no control group limits it; disk, cpu time and processes always."""

    def __init__(self, session: Session, limits: dict[str, Any]) -> None:  # Any: JSON numbers
        self._session = session
        self._limits = limits
        self._ooms_before = session.group.oom_kills() if session.group else 0
        self._next_disk_at = 0.0
        self._next_at = time.monotonic() + _EVERY_S
        self._cpu_before: dict[int, float] = {}
        self.memory_bytes = 0
        """The most that was seen, above what every session shares."""

    def exceeded(self, now: float) -> Exceeded | None:
        """What is above its limit, looked at every tenth of a second."""
        if now < self._next_at:
            return None
        self._next_at = now + _EVERY_S
        pids = [*processes.below(self._session.crew.keeper)]
        return self._memory(pids) or self._processes(pids) or self._cpu(pids) or self._disk(now, pids)

    def exceeded_while_idle(self) -> Exceeded | None:
        """The same between cells, for what a thread of the session's may do then."""
        pids = [*processes.below(self._session.crew.keeper)]
        return self._memory(pids) or self._disk(time.monotonic(), pids)

    def has_oom_killed(self) -> bool:
        """Whether the kernel killed for want of memory since this began."""
        return bool(self._session.group and self._session.group.oom_kills() > self._ooms_before)

    def memory_text(self) -> str:
        limit = self._limits["memory_bytes"]
        if self._session.has_cgroup_memory and self._session.group:
            peak = self._session.group.memory_bytes()
            return f"it reached its limit of {_mb(limit)}" + (f" (peak {_mb(peak)})" if peak else "")
        return f"{_mb(self.memory_bytes)} used, {_mb(limit)} allowed"

    def _memory(self, pids: list[int]) -> Exceeded | None:
        if (
            self._session.has_cgroup_memory
        ):  # a program of the cell's may have been killed, while the cell itself goes on
            return ("memory", self.memory_text()) if self.has_oom_killed() else None
        total = sum(map(processes.anonymous_bytes, pids))
        limit = self._limits["memory_bytes"]
        used = max(0, total - self._session.crew.baseline_bytes)
        if used > limit and len(pids) > 1:  # forks share pages: count them exactly before a cell dies for it
            used = sum(processes.proportional_bytes(pid, self._session.crew.baseline_bytes) for pid in pids)
        self.memory_bytes = max(self.memory_bytes, used)
        return ("memory", self.memory_text()) if used > limit else None

    def _processes(self, pids: list[int]) -> Exceeded | None:
        limit = self._limits["processes"]
        return ("processes", f"{len(pids)} at once, {limit} allowed") if len(pids) > limit else None

    def _cpu(self, pids: list[int]) -> Exceeded | None:
        limit = self._limits["cpu_s"]
        if limit is None:
            return None
        seen = {pid: processes.cpu_seconds(pid) for pid in pids}
        for pid, seconds in seen.items():
            self._cpu_before.setdefault(pid, seconds if pid == self._session.crew.kernel else 0.0)
        used = sum(seconds - self._cpu_before[pid] for pid, seconds in seen.items())
        return ("cpu", f"{used:.1f} s of processor time used, {limit:g} s allowed") if used > limit else None

    def _disk(self, now: float, pids: list[int]) -> Exceeded | None:
        if now < self._next_disk_at:
            return None
        began = time.monotonic()
        try:
            with self._session.observer.aside():
                used = folder.disk_bytes(self._session.spec.work, self._session.scratch)
                used += processes.unlinked_bytes(pids)
        except folder.CannotLook:
            return "disk", "a folder is shut or nests too deep to be looked into"
        self._next_disk_at = now + max(_DISK_EVERY_S, (time.monotonic() - began) * _SHARE_OF_TIME)
        limit = self._limits["disk_bytes"]
        # A session that is above its limit may still delete.
        if used > max(limit, self._session.disk_excess_bytes):
            self._session.disk_excess_bytes = used
            return "disk", f"{_mb(used)} used, {_mb(limit)} allowed"
        return None


def _mb(size: int) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
