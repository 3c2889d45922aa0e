"""A cell's own view of mounts, network, processes, IPC and host name, where the kernel lets it have one."""

import os
import struct
from pathlib import Path

from sandbox.linux import MOUNT_SETATTR, PR_SET_DUMPABLE, check, libc, prctl, syscall

_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_ALL = _NEWNS | _NEWUTS | _NEWIPC | _NEWUSER | _NEWPID | _NEWNET
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 1 << 18
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_RDONLY, _NOSUID, _NODEV = 1, 2, 4


def enter() -> None:
    """Leave the machine's namespaces; the next child is the first process of the new process namespace."""
    uid, gid = os.getuid(), os.getgid()
    prctl(PR_SET_DUMPABLE, 1)  # after a change of user the maps below would belong to root
    check(libc.unshare(_ALL), "unshare")
    for name, content in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        Path("/proc/self", name).write_text(content)


def make_read_only(writable: list[str]) -> None:
    """Mount everything read-only but these folders."""
    check(libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "mounts made private")
    for folder in writable:
        check(libc.mount(os.fsencode(folder), os.fsencode(folder), None, _MS_BIND, None), f"bind {folder}")
    _set_attributes("/", _AT_RECURSIVE, added=_RDONLY, removed=0)
    for folder in writable:
        _set_attributes(folder, 0, added=_NOSUID | _NODEV, removed=_RDONLY)


def _set_attributes(path: str, flags: int, *, added: int, removed: int) -> None:
    attributes = struct.pack("QQQQ", added, removed, 0, 0)
    check(
        syscall(MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), flags, attributes, len(attributes)),
        f"mount_setattr {path}",
    )
