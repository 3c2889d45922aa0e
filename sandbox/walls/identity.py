"""Who a cell is: a real unprivileged user, without capabilities, who can gain nothing."""

import os
import struct

from sandbox.linux import PR_SET_NO_NEW_PRIVS, check, libc, prctl

_CAPABILITY_VERSION_3 = 0x20080522


def become(uid: int) -> None:
    """Turn into another user for good; only root can."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def drop_capabilities() -> None:
    check(libc.capset(struct.pack("Ii", _CAPABILITY_VERSION_3, 0), bytes(24)), "capset")


def gain_nothing() -> None:
    """No setuid program and no file capability counts from here on."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)
