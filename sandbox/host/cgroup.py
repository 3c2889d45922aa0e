"""Memory, processes and cpu of a session limited by the kernel, where a control group can be made."""

import os
import re
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_CONTROLLERS = ("memory", "pids", "cpu")
_PERIOD_US = 100_000


@dataclass(frozen=True, slots=True)
class Amounts:
    """What a session may use."""

    memory_bytes: int
    processes: int
    cpus: float | None


class Hierarchies:
    """The control group folders of this process, by controller: one for all in version 2, one each in version 1."""

    def __init__(self, mounts: str = "/proc/self/mountinfo", membership: str = "/proc/self/cgroup") -> None:
        self.folders: dict[str, Path] = {}
        self.version = 0
        try:
            groups = [line.split(":", 2) for line in Path(membership).read_text().splitlines()]
            found = [_mount(line) for line in Path(mounts).read_text().splitlines()]
        except OSError:
            return
        for kind, root, point, options in found:
            if kind == "cgroup2":
                self._take_unified(point, root, groups)
            elif kind == "cgroup":
                self._take_old(point, root, options, groups)

    def _take_unified(self, point: str, root: str, groups: list[list[str]]) -> None:
        path = next((path for number, _, path in groups if number == "0"), None)
        if path is None:
            return
        own = Path(point, os.path.relpath(path, root))
        # A group with processes of its own hands no controller down, so sessions stand beside it, not below.
        for parent in (own, *own.parents):
            with suppress(OSError):
                offered = set((parent / "cgroup.subtree_control").read_text().split())
                if usable := offered.intersection(_CONTROLLERS):
                    self.version = 2
                    self.folders = dict.fromkeys(sorted(usable), parent)
                    return
            if str(parent) == point:
                return

    def _take_old(self, point: str, root: str, options: set[str], groups: list[list[str]]) -> None:
        for _, names, path in groups:
            for controller in set(names.split(",")).intersection(_CONTROLLERS, options):
                if controller not in self.folders:
                    self.version = 1
                    self.folders[controller] = Path(point, os.path.relpath(path, root))

    def make(self, name: str, amounts: Amounts) -> "Group | None":
        """A group for a session, with every limit that can be set; None where none can."""
        folders: dict[str, Path] = {}
        for controller, parent in self.folders.items():
            folder = parent / name
            try:
                folder.mkdir(exist_ok=True)
                _limit(folder, controller, self.version, amounts)
            except OSError:
                with suppress(OSError):
                    folder.rmdir()
                continue
            folders[controller] = folder
        return Group(folders) if folders else None

    def sweep(self, prefix: str) -> None:
        """Kill and remove what an earlier host of ours left behind."""
        for parent in set(self.folders.values()):
            for folder in parent.glob(f"{prefix}*"):
                Group({"": folder}).remove()


class Group:
    """One session's control groups."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = folders
        self._events: int | None = None
        if memory := folders.get("memory"):
            for name in ("memory.events", "memory.oom_control"):  # version 2, version 1
                with suppress(OSError):
                    self._events = os.open(memory / name, os.O_RDONLY | os.O_CLOEXEC)
                    break

    @property
    def controllers(self) -> list[str]:
        return sorted(self._folders)

    def make_ready(self) -> None:
        """Begin what the first move into a group waits for, about 10 ms, while other things are done: a move to where
        we are already takes the same lock, and the next one then has it at once."""
        threading.Thread(target=self._stay_put).start()

    def add(self, pid: int) -> None:
        """Move a process here; what it forks from now on is here too."""
        for folder in set(self._folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def oom_kills(self) -> int:
        """How often the kernel killed for want of memory here."""
        if self._events is None:
            return 0
        found = _OOM_KILLS.search(os.pread(self._events, 4096, 0))
        return int(found[1]) if found else 0

    def memory_bytes(self) -> int | None:
        """The most that was used at once, where the kernel says."""
        folder = self._folders.get("memory")
        for name in ("memory.peak", "memory.max_usage_in_bytes"):
            with suppress(OSError):
                return int((folder / name).read_text()) if folder else None
        return None

    def _stay_put(self) -> None:
        for folder in set(self._folders.values()):
            with suppress(OSError):
                (folder.parent / "cgroup.procs").write_text(str(os.getpid()))
                return

    def remove(self) -> None:
        """End every process in it, then the group itself."""
        if self._events is not None:
            os.close(self._events)
            self._events = None
        for folder in set(self._folders.values()):
            for _ in range(1000):
                with suppress(OSError):
                    for pid in map(int, (folder / "cgroup.procs").read_text().split()):
                        with suppress(ProcessLookupError, PermissionError):
                            os.kill(pid, signal.SIGKILL)
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.001)  # the dead leave a moment later
                else:
                    break


_OOM_KILLS = re.compile(rb"^oom_kill (\d+)$", re.MULTILINE)


def _mount(line: str) -> tuple[str, str, str, set[str]]:
    """A line of mountinfo: kind of file system, root, mount point, options."""
    before, _, after = line.partition(" - ")
    fields, rest = before.split(), after.split()
    return rest[0], fields[3], fields[4], set(rest[2].split(",")) if len(rest) > 2 else set()


def _limit(folder: Path, controller: str, version: int, amounts: Amounts) -> None:
    def put(name: str, value: object) -> None:
        (folder / name).write_text(str(value))

    match controller, version:
        case "memory", 2:
            put("memory.max", amounts.memory_bytes)
            with suppress(OSError):  # without swap there is nothing to limit
                put("memory.swap.max", 0)
        case "memory", _:
            put("memory.limit_in_bytes", amounts.memory_bytes)
            with suppress(OSError):
                put("memory.memsw.limit_in_bytes", amounts.memory_bytes)
        case "pids", _:
            put("pids.max", amounts.processes)
        case "cpu", 2:
            quota = "max" if amounts.cpus is None else int(amounts.cpus * _PERIOD_US)
            put("cpu.max", f"{quota} {_PERIOD_US}")
        case _:
            put("cpu.cfs_period_us", _PERIOD_US)
            put("cpu.cfs_quota_us", -1 if amounts.cpus is None else int(amounts.cpus * _PERIOD_US))
