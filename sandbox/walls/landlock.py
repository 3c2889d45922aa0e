"""Landlock: which files a cell can open at all, whatever their permissions say."""

import os
import struct
from collections.abc import Iterable

from sandbox.linux import LANDLOCK_ADD_RULE, LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF, check, syscall

NEWEST_ABI = 7
"""The newest whose rights are handled here; a newer kernel is asked for this."""

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK, _MAKE_SOCK, _MAKE_FIFO = 1 << 6, 1 << 11, 1 << 9, 1 << 10
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_BEFORE_ABI_2 = (1 << 13) - 1
_ADDED_BY_ABI = {2: _REFER, 3: _TRUNCATE, 5: _IOCTL_DEV}
_BIND_AND_CONNECT_TCP = 3
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2
_GET_VERSION = 1
_PATH_BENEATH = 1

_READ = _EXECUTE | _READ_FILE | _READ_DIR


def offered_abi() -> int:
    """The version this kernel has, at most the newest known here; 0 without Landlock."""
    return min(NEWEST_ABI, max(0, syscall(LANDLOCK_CREATE_RULESET, None, 0, _GET_VERSION)))


def restrict(abi: int, readable: Iterable[str], writable: Iterable[str], devices: Iterable[str]) -> None:
    """Nothing outside these can be opened; nothing can be bound, connected or signalled, as far as the version goes."""
    rights = _rights(abi)
    ruleset = _ruleset(abi, rights, _BIND_AND_CONNECT_TCP, _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS)
    for path in readable:
        _allow(ruleset, path, _READ)
    for path in devices:
        _allow(ruleset, path, _READ_FILE | _WRITE_FILE)
    for path in writable:
        _allow(ruleset, path, rights & ~(_MAKE_CHAR | _MAKE_BLOCK | _MAKE_SOCK | _MAKE_FIFO | _IOCTL_DEV))
    _enforce(ruleset)


def signal_only_kin() -> None:
    """From here on only processes started from here on can be signalled. Needs ABI 6."""
    ruleset = _ruleset(6, _REFER, 0, _SCOPE_SIGNALS)
    _allow(ruleset, "/", _REFER)  # a layer that does not speak of moving files between folders forbids it
    _enforce(ruleset)


def _rights(abi: int) -> int:
    rights = _BEFORE_ABI_2
    for version, right in _ADDED_BY_ABI.items():
        rights |= right if abi >= version else 0
    return rights


def _ruleset(abi: int, files: int, tcp: int, scopes: int) -> int:
    attributes = struct.pack("QQQ", files, tcp, scopes)[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    return check(syscall(LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0), "landlock_create_ruleset")


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # not every system has every folder
    try:
        if not os.path.isdir(path):
            rights &= _FILE_RIGHTS
        rule = struct.pack("=Qi", rights, descriptor)
        check(syscall(LANDLOCK_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0), f"landlock_add_rule {path}")
    finally:
        os.close(descriptor)


def _enforce(ruleset: int) -> None:
    try:
        check(syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    finally:
        os.close(ruleset)
