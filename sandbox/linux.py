"""The few system calls that Python does not offer."""

import ctypes
import os
import platform
from typing import Final

libc = ctypes.CDLL(None, use_errno=True)

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


def is_known_machine() -> bool:
    return platform.machine() in MACHINES
