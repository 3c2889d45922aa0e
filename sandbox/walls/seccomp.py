"""The system calls a cell may make: an allowlist. What is not named here does not exist for it (ENOSYS).

An allowlist, because a list of what is forbidden is outgrown by each new kernel: `fchmodat2` was such a leak.
The program is compiled once, by libseccomp, before anything is walled in; a session only loads it.
"""

import ctypes
import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import pyseccomp  # pyright: ignore[reportMissingTypeStubs]  (typed inline, but does not say so)

from sandbox.linux import (
    LANDLOCK_ADD_RULE,
    LANDLOCK_CREATE_RULESET,
    LANDLOCK_RESTRICT_SELF,
    PR_SET_SECCOMP,
    check,
    libc,
)

_FREE = """
access alarm arch_prctl brk capget chdir clock_getres clock_gettime clock_nanosleep close close_range copy_file_range
dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 execve
execveat exit exit_group faccessat faccessat2 fadvise64 fallocate fchdir fdatasync fgetxattr flistxattr flock
fstat fstatfs fsync ftruncate futex futex_wait futex_waitv futex_wake get_mempolicy get_robust_list getcpu getcwd
getdents getdents64 getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getppid getpriority
getrandom getresgid getresuid getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday getuid getxattr
kill lgetxattr listxattr llistxattr lseek lstat madvise map_shadow_stack mbind membarrier mkdir mkdirat mlock mlock2
mmap mprotect mremap msync munlock munmap nanosleep newfstatat pause pipe pipe2 poll ppoll prctl pread64 preadv
preadv2 pselect6 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv recvfrom recvmsg rename renameat
renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity
sched_getparam sched_getscheduler sched_yield select sendfile sendto set_mempolicy set_robust_list set_tid_address
setitimer setpgid setrlimit setsid setsockopt shutdown sigaltstack signalfd signalfd4 splice stat statfs statx symlink
symlinkat sync_file_range sysinfo tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime
timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill umask uname unlink unlinkat vfork wait4
waitid write writev
"""
_SPOKEN_NO = """
accept accept4 add_key bind bpf chroot connect delete_module finit_module fremovexattr fsetxattr init_module
io_uring_setup kexec_load keyctl link linkat listen lremovexattr lsetxattr memfd_create mknod mknodat mount move_mount
msgget open_by_handle_at open_tree perf_event_open pidfd_getfd pidfd_open pivot_root process_vm_readv
process_vm_writev ptrace removexattr request_key sched_setattr sched_setparam sched_setscheduler semget sendmmsg
sendmsg setgid setgroups setns setpriority setregid setresgid setresuid setreuid setuid setxattr shmget socket swapon
umount2 unshare userfaultfd
"""
_OF_AN_OWNER = ("chmod", "fchmod", "fchmodat", "chown", "fchown", "fchownat", "lchown")
_OF_A_WRITER = ("utime", "utimes", "utimensat", "futimesat")

_NEW_NAMESPACES = 0x7E020000
_SET_ID_BITS = 0o6000
_CREATES = os.O_CREAT | 0o20000000  # __O_TMPFILE: a file without a name has a mode too
_TERMINAL_QUESTIONS = (
    0x5401,
    0x5413,
    0x541B,
    0x5421,
    0x5450,
    0x5451,
)  # TCGETS GWINSZ FIONREAD FIONBIO FIONCLEX FIOCLEX
_CLONE_FILE = 0x40049409  # FICLONE
_FILE_COMMANDS = (
    *range(8),
    36,
    37,
    38,
    1030,
    1031,
    1032,
    1033,
    1034,
)  # descriptors, locks, pipe sizes, seals: no leases

Filter = bytes
"""A compiled program, ready to load."""


@dataclass(frozen=True, slots=True)
class Leave:
    """What else a session may ask of the kernel, depending on the walls around it."""

    change_modes: bool
    """chmod and chown: safe where a cell owns nothing outside, or where outside is mounted read-only."""
    change_times: bool
    """utime: safe only where outside is mounted read-only; who may write a file may touch it."""
    truncate_by_path: bool
    """truncate(2): safe where Landlock knows it (ABI 3), or where outside is mounted read-only."""


def is_offered() -> bool:
    """Whether this kernel takes filters: asked with none to load, it complains about the address."""
    return libc.prctl(PR_SET_SECCOMP, 2, None, 0, 0) < 0 and ctypes.get_errno() == errno.EFAULT


def compile_filter(leave: Leave) -> Filter:
    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.ENOSYS))
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.KILL_PROCESS)
    with suppress(OSError):  # libseccomp before 2.5 cannot: slower, as safe
        rules.set_attr(pyseccomp.Attr.CTL_OPTIMIZE, 2)
    for name, conditions in _allowed(leave):
        with suppress(OSError, RuntimeError, ValueError):  # not every machine has every call
            rules.add_rule(pyseccomp.ALLOW, name, *conditions)
    allowed = {name for name, _ in _allowed(leave)}
    for name in (*_SPOKEN_NO.split(), *_OF_AN_OWNER, *_OF_A_WRITER, "truncate"):
        if name not in allowed:
            with suppress(OSError, RuntimeError, ValueError):
                rules.add_rule(pyseccomp.ERRNO(errno.EPERM), name)
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def load(program: Filter) -> None:
    """For good, and for every process started from here on. Needs no_new_privs."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

    loaded = Program(len(program) // 8, program)
    check(libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(loaded), 0, 0), "seccomp")


def _allowed(leave: Leave) -> Iterator[tuple[str | int, tuple[pyseccomp.Arg, ...]]]:
    """Each call that is allowed, with what its arguments must be; several lines for a call are alternatives."""
    for name in _FREE.split():
        yield name, ()
    for number in (LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF):
        yield number, ()  # whoever is inside may wall itself in further
    yield "clone", (_without(0, _NEW_NAMESPACES),)
    yield "prlimit64", (_is(0, 0),)
    yield "sched_setaffinity", (_is(0, 0),)
    yield (
        "socketpair",
        (_is(0, 1), pyseccomp.Arg(1, pyseccomp.MASKED_EQ, 0xF, 1)),
    )  # unix streams: they have no addresses
    for request in (*_TERMINAL_QUESTIONS, _CLONE_FILE):
        yield "ioctl", (_is(1, request),)
    for command in _FILE_COMMANDS:
        yield "fcntl", (_is(1, command),)
    for name, flags in (("open", 1), ("openat", 2)):
        yield name, (_without(flags, _CREATES),)
        yield name, (_without(flags + 1, _SET_ID_BITS),)
    yield "creat", (_without(1, _SET_ID_BITS),)
    if leave.change_modes:
        for name, mode in (("chmod", 1), ("fchmod", 1), ("fchmodat", 2)):
            yield name, (_without(mode, _SET_ID_BITS),)
        for name in _OF_AN_OWNER[3:]:
            yield name, ()
    if leave.change_times:
        for name in _OF_A_WRITER:
            yield name, ()
    if leave.truncate_by_path:
        yield "truncate", ()


def _is(position: int, value: int) -> pyseccomp.Arg:
    return pyseccomp.Arg(position, pyseccomp.EQ, value)


def _without(position: int, bits: int) -> pyseccomp.Arg:
    return pyseccomp.Arg(position, pyseccomp.MASKED_EQ, bits, 0)
