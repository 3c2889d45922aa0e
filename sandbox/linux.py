"""The few system calls that Python does not offer."""

import ctypes
import os
import platform
import struct
from typing import Final

_WITHOUT_LINKS: Final = 0x04 | 0x02
_BENEATH_WITHOUT_LINKS: Final = 0x08 | _WITHOUT_LINKS

libc = ctypes.CDLL(None, use_errno=True)

OPENAT2: Final = 437
MOUNT_SETATTR: Final = 442
LANDLOCK_CREATE_RULESET: Final = 444
LANDLOCK_ADD_RULE: Final = 445
LANDLOCK_RESTRICT_SELF: Final = 446

PR_SET_PDEATHSIG: Final = 1
PR_SET_DUMPABLE: Final = 4
PR_SET_SECCOMP: Final = 22
PR_SET_CHILD_SUBREAPER: Final = 36
PR_SET_NO_NEW_PRIVS: Final = 38

MADV_COLLAPSE: Final = 25

MACHINES: Final = ("x86_64", "aarch64")
"""Where the numbers above hold."""


def check(result: int, what: str) -> int:
    """The result of a call, or OSError with the call's name."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def prctl(option: int, value: int) -> None:
    check(libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0), f"prctl {option}")


def syscall(number: int, *arguments: int | bytes | None) -> int:
    """A call by its number; -1 leaves the reason in errno."""
    return libc.syscall(
        ctypes.c_long(number),
        *(ctypes.c_long(value) if isinstance(value, int) else value for value in arguments),
    )


def open_beneath(folder: int, path: str) -> int:
    """A folder somewhere beneath another, reached without passing a link: nobody can swap one in on the way."""
    if not path:
        return os.dup(folder)
    how = struct.pack("QQQ", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, 0, _BENEATH_WITHOUT_LINKS)
    return check(syscall(OPENAT2, folder, os.fsencode(path), how, len(how)), "openat2")


def open_without_links(path: str) -> int:
    """A file by its absolute path, for reading, when no link is on the way; a fifo does not make us wait."""
    how = struct.pack("QQQ", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, 0, _WITHOUT_LINKS)
    return check(syscall(OPENAT2, -100, os.fsencode(path), how, len(how)), "openat2")


def is_known_machine() -> bool:
    return platform.machine() in MACHINES
