"""The order in which a process walls itself in. Each step needs what the steps before left it."""

import os
import resource
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sandbox.linux import PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, PR_SET_PDEATHSIG, prctl
from sandbox.walls import identity, landlock, namespaces, seccomp

_SYSTEM = (
    "/usr", "/lib", "/lib64", "/lib32", "/bin", "/etc/ld.so.cache", "/etc/fonts", "/etc/mime.types", "/etc/localtime",
    "/etc/alternatives", "/var/cache/fontconfig",
)  # fmt: skip
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_SIGKILL = 9


@dataclass(frozen=True, slots=True)
class Limits:
    """What the kernel itself limits, by process or by user."""

    address_space_bytes: int
    file_size_bytes: int
    open_files: int
    processes: int


@dataclass(frozen=True, slots=True)
class Enclosure:
    """Where a session may go."""

    work: str
    is_writable: bool
    scratch: str
    readable: tuple[str, ...]
    uid: int | None
    """The user to become; None keeps the one we are."""
    use_namespaces: bool
    landlock_abi: int
    limits: Limits

    @property
    def writable(self) -> list[str]:
        return [self.work, self.scratch] if self.is_writable else [self.scratch]

    @property
    def leave(self) -> seccomp.Leave:
        return seccomp.Leave(
            change_modes=self.use_namespaces or self.uid is not None,
            change_times=self.use_namespaces,
            truncate_by_path=self.use_namespaces or self.landlock_abi >= 3,
        )


class WallMissing(Exception):
    """A wall could not be put up; nothing of the caller's ran."""

    def __init__(self, wall: str, reason: OSError) -> None:
        self.wall = wall
        self.reason = reason
        super().__init__(f"{wall}: {reason}")


def leave_the_machine(enclosure: Enclosure) -> None:
    """The outer half: user, namespaces, mounts. The next child is inside the new process namespace."""
    Path("/proc/self/oom_score_adj").write_text("500")  # when memory runs out, this goes before the rest of the machine
    if enclosure.uid is not None:
        try:
            identity.become(enclosure.uid)
        except OSError as error:
            raise WallMissing("identity", error) from error
    if enclosure.use_namespaces:
        try:
            namespaces.enter()
            namespaces.make_read_only(enclosure.writable)
        except OSError as error:
            raise WallMissing("namespaces", error) from error


def wall_in(enclosure: Enclosure, program: seccomp.Filter) -> None:
    """The inner half: capabilities, limits, Landlock, seccomp, environment. After it, code of others may run."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)  # what daemonises itself stays below this process
    identity.drop_capabilities()
    os.chdir(enclosure.work)
    _limit(enclosure.limits)
    identity.gain_nothing()
    try:
        landlock.restrict(
            enclosure.landlock_abi, (*_SYSTEM, *enclosure.readable, enclosure.work), enclosure.writable, _DEVICES
        )
    except OSError as error:
        raise WallMissing("files", error) from error
    seccomp.load(program)
    prctl(PR_SET_DUMPABLE, 0)  # this process's memory is not for cells, who may share its user
    _empty_environment(enclosure)


def become_kernel(enclosure: Enclosure, parent: int) -> None:
    """What the process that runs cells adds for itself, so that it cannot touch the one that keeps it."""
    prctl(PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != parent:
        os._exit(0)  # it died before we could ask to be told
    prctl(PR_SET_DUMPABLE, 1)
    if enclosure.landlock_abi >= 6:
        landlock.signal_only_kin()


def _limit(limits: Limits) -> None:
    for name, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, limits.address_space_bytes),
        (resource.RLIMIT_FSIZE, limits.file_size_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        _, hard = resource.getrlimit(name)
        wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(name, (wanted, wanted))


def _empty_environment(enclosure: Enclosure) -> None:
    """Nothing of ours; HOME and TMPDIR in the session's scratch folder."""
    os.environ.clear()
    os.environ.update(
        HOME=enclosure.scratch,
        TMPDIR=enclosure.scratch,
        USER="cell",
        PATH="/usr/bin:/bin",
        LANG="C.UTF-8",
        MPLBACKEND="module://matplotlib_inline.backend_inline",
        MPLCONFIGDIR=enclosure.scratch,
        OPENBLAS_NUM_THREADS="1",
    )
    tempfile.tempdir = enclosure.scratch
