"""How far the journal was acknowledged, kept apart from it: tells a torn tail from a lost record."""

import errno
import hashlib
import os
import re
from dataclasses import dataclass

from run_record.errors import DamagedRecord
from run_record.journal_line import HOW_TO_MEND, NO_HASH

_SLOT = re.compile(rb"(\d{20}) ([0-9a-f]{64}) ([0-9a-f]{16})\n")
_SLOT_BYTES = 103


@dataclass(frozen=True, slots=True)
class Head:
    """The last acknowledged record."""

    n: int
    hash: str
    is_doubtful: bool = False  # the other slot is unreadable: it may have held the record after this one


def first_head(digest: str) -> bytes:
    """A head file's first content: record 0, which is nothing, and record 1, which opens the run."""
    return _slot(0, NO_HASH) + _slot(1, digest)


def read_head(fd: int) -> Head:
    """The newer of the two slots. Each record's head goes where the one before the last was,
    so that a write cut off half-way leaves the last one whole."""
    content = os.pread(fd, 2 * _SLOT_BYTES + 1, 0)
    slots = [_read_slot(content[:_SLOT_BYTES], 0), _read_slot(content[_SLOT_BYTES:], 1)]
    whole = [head for head in slots if head is not None]
    if not whole:
        raise DamagedRecord("the head is damaged: both its slots are unreadable", HOW_TO_MEND)
    newest = max(whole, key=lambda head: head.n)
    return Head(newest.n, newest.hash, is_doubtful=len(whole) < 2)


def write_head(fd: int, n: int, digest: str) -> None:
    """Acknowledge record `n`, durably."""
    if os.pwrite(fd, _slot(n, digest), n % 2 * _SLOT_BYTES) != _SLOT_BYTES:
        raise OSError(errno.EIO, "the head was written in part")
    os.fdatasync(fd)


def slots_of(fd: int) -> bytes:
    """Both slots as they are, for `put_back_head`."""
    return os.pread(fd, 2 * _SLOT_BYTES, 0)


def put_back_head(fd: int, slots: bytes) -> None:
    """Undo a `write_head` that did not come to its end."""
    if slots_of(fd) != slots:
        os.pwrite(fd, slots, 0)
        os.fdatasync(fd)


def _slot(n: int, digest: str) -> bytes:
    content = f"{n:020d} {digest}"
    return f"{content} {_check(content)}\n".encode()


def _read_slot(content: bytes, parity: int) -> Head | None:
    match = _SLOT.fullmatch(content)
    if match is None or _check(f"{match[1].decode()} {match[2].decode()}") != match[3].decode():
        return None
    n = int(match[1])
    return Head(n, match[2].decode()) if n % 2 == parity else None


def _check(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:16]
