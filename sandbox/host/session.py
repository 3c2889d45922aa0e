"""One session: its enclosure, its crew, and whose turn it is."""

import fcntl
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Protocol

from sandbox.frames import Message
from sandbox.host import folder, processes
from sandbox.host.cgroup import Amounts, Group, Hierarchies
from sandbox.host.crew import Crew
from sandbox.host.observer import Observer
from sandbox.host.refusal import Refusal
from sandbox.host.turn import Turn
from sandbox.host.zygote_link import ZygoteLink
from sandbox.walls.wall_in import Enclosure, Limits

_HEADROOM: Final = 0.9


@dataclass(frozen=True, slots=True)
class Ground:
    """What every session of a host stands on."""

    zygote: ZygoteLink
    hierarchies: Hierarchies
    name: str
    """Marks what is this host's: control groups, scratch folders."""
    environment: str
    """The folder of the sandbox's Python environment."""
    landlock_abi: int
    use_namespaces: bool
    namespaces_refused: str
    """Why there are none."""
    uids: range
    """The users sessions may become; empty when we are not root."""
    walls: dict[str, str]
    """What each wall stands by."""
    memory_by: str
    """`cgroup` or `watchdog`."""

    def changed(self, **changes: Any) -> "Ground":  # Any: the fields' own types
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Spec:
    """What a session is asked to be."""

    name: str
    work: str
    writable: bool
    seed: int
    disallowed_imports: tuple[str, ...]
    limits: dict[str, Any]  # Any: JSON numbers; their names are those of sandbox.cell.Limits


class Interruptible(Protocol):
    """A cell that is being followed."""

    def interrupt(self) -> None: ...

    def stop(self) -> None: ...


class Session:
    """Holds what a session has: work directory, user, scratch folder, control group, crew. One cell runs at a time.

    Left to others: how a cell is followed (`cell_run`), which sessions there are (`server`).
    """

    def __init__(self, spec: Spec, ground: Ground, uid: int | None) -> None:
        self.spec = spec
        self.ground = ground
        self.uid = uid
        self.turn = Turn()
        self.used_at = time.monotonic()
        self.cells = 0
        self.cell_number = 0
        self.running: Interruptible | None = None
        self._is_closed = False
        self.group: Group | None = None
        self.disk_excess_bytes = 0
        """What the disk watch saw when it last stopped a cell: as long as it shrinks, cells may go on."""
        self.is_closing = False
        self._work_lock = _lock_folder(spec.work)
        self._files: dict[str, folder.Signature] | None = None
        self.wakeup = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        """Wakes whoever follows this session's cell."""
        self.scratch = tempfile.mkdtemp(prefix=f"{ground.name}-")
        self._crew: Crew | None = None
        self.observer: Observer = Observer(self._work_lock)
        try:
            self._prepare()
            self._crew = self._hire()
        except BaseException:
            self.close()
            raise

    @property
    def crew(self) -> Crew:
        if self._crew is None:
            raise Refusal("SessionIsGone", f"session {self.spec.name} has ended", "open it again")
        return self._crew

    @property
    def has_cgroup_memory(self) -> bool:
        return self.group is not None and "memory" in self.group.controllers

    def look_before(self) -> dict[str, folder.Signature]:
        """The files as they are before a cell; looked at again only when something happened since the last cell."""
        if not self.observer.begin() or self._files is None:
            self._files = folder.scan(self.spec.work)
            self.observer.begin()  # our own looking made events
        return self._files

    def look_after(self) -> dict[str, folder.Signature]:
        """The files as they are now; a cell may have changed them in ways that make no event."""
        self._files = folder.scan(self.spec.work)
        return self._files

    def restart(self) -> None:
        """Everything anew in the same place: the variables are gone, the files stay."""
        self._end_processes()
        self._crew = self._hire()

    def renew(self) -> None:
        """A kernel that has run nothing, within the same walls, in empty folders."""
        self.crew.renew_kernel()
        for place in (self.spec.work, self.scratch):
            folder.empty(place)

    def close(self) -> None:
        """End every process of the session and leave nothing of it but its work directory."""
        if self._is_closed:
            return
        self._is_closed = True
        with ExitStack() as last:  # each of these, whatever becomes of the others
            last.callback(os.close, self._work_lock)
            last.callback(os.close, self.wakeup)
            last.callback(folder.remove, self.scratch)
            last.callback(self.observer.close)
            if self.group:
                last.callback(self.group.remove)
            last.callback(self._end_processes)

    def info(self) -> Message:
        return {
            "name": self.spec.name,
            "work": self.spec.work,
            "uid": os.getuid() if self.uid is None else self.uid,
            "walls": self.ground.walls,
            "landlock_abi": self.ground.landlock_abi,
            "namespaces": self.ground.use_namespaces,
            "memory_by": "cgroup" if self.has_cgroup_memory else "watchdog",
            "limited_by_cgroup": self.group.controllers if self.group else [],
            "python": self.ground.zygote.ready["python"],
            "cells": self.cells,
            "idle_s": round(time.monotonic() - self.used_at, 1),
            "is_busy": self.turn.is_cell,
        }

    def _hire(self) -> Crew:
        request: Message = {
            "kind": "session",
            "enclosure": asdict(self._enclosure()),
            "seed": self.spec.seed,
            "disallowed_imports": list(self.spec.disallowed_imports),
            "display_bytes": self.spec.limits["display_bytes"],
        }
        if self.spec.writable:  # a cell may have shut itself out
            os.chmod(self._work_lock, os.fstat(self._work_lock).st_mode & 0o7777 | 0o700)
        return Crew(self.ground.zygote, request, self.group)

    def _end_processes(self) -> None:
        if self._crew is not None:
            self._crew.end()
            self._crew = None
        if self.uid is not None and not self.ground.use_namespaces:  # with them, all ended with the keeper
            processes.kill_user(self.uid)

    def _prepare(self) -> None:
        work = self.spec.work
        if self.uid is not None:
            if self.spec.writable:
                folder.hand_over(work, self.uid, self.ground.uids)
            os.chown(self.scratch, self.uid, self.uid)
            if blocked := folder.why_not_passable(work, self.uid):
                raise Refusal(
                    "NoSafeSandbox",
                    f"cells run as user {self.uid} of their own, who cannot pass through {blocked} to {work}",
                    f"name a home that every user can pass through (--home /var/lib/partner), or: chmod o+x {blocked}",
                )
        limits = self.spec.limits
        amounts = Amounts(limits["memory_bytes"], limits["processes"], limits["cpus"])
        self.group = self.ground.hierarchies.make(f"{self.ground.name}-{self.spec.name}", amounts)

    def _enclosure(self) -> Enclosure:
        limits = self.spec.limits
        others = 0
        if self.uid is None and not self.ground.use_namespaces:
            others = processes.count_threads(os.getuid())  # the limit counts everything of this user's
        loaded: int = self.ground.zygote.ready["address_space_bytes"]
        return Enclosure(
            work=self.spec.work,
            is_writable=self.spec.writable,
            scratch=self.scratch,
            readable=(self.ground.environment, *interpreter_folders()),
            uid=self.uid,
            use_namespaces=self.ground.use_namespaces,
            landlock_abi=self.ground.landlock_abi,
            limits=Limits(
                # An allocation that would cross the limit fails as MemoryError, and the cell can go on.
                address_space_bytes=loaded + int(limits["memory_bytes"] * _HEADROOM),
                file_size_bytes=limits["file_bytes"],
                open_files=limits["open_files"],
                processes=limits["processes"] + others,
            ),
        )


def interpreter_folders() -> tuple[str, ...]:
    """Where this Python itself lives, when that is not the system's own place."""
    found = {os.path.realpath(sys.base_prefix), os.path.dirname(os.path.realpath(sys.executable))}
    return tuple(sorted(path for path in found if not path.startswith("/usr")))


def _lock_folder(work: str) -> int:
    """Hold a work directory for one session, whichever host it belongs to."""
    descriptor = os.open(work, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise Refusal(
            "SessionIsBusy",
            f"{work} is the work directory of another session",
            "close that session first: `partner sandbox status` shows it",
        ) from None
    return descriptor
