"""Copying bytes and hashing exactly what was copied, in constant memory."""

import errno
import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from typing import Protocol

from run_record.durable import write_all
from run_record.ids import Sha256

_CHUNK_BYTES = 1 << 20
_FICLONE = 0x40049409
_CANNOT_CLONE = {errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.EPERM, errno.ETXTBSY}


class Stream(Protocol):
    """Anything that gives its bytes piece by piece, and none at its end."""

    def read(self, size: int, /) -> bytes: ...


def copy_hashed(source: int, target: int) -> tuple[int, Sha256]:
    """Copy a whole file into an empty one; size and sha256 are those of the copy."""
    if _clone(source, target):
        return hash_file(target)
    return _hash(_chunks(source), target)


def write_hashed(source: Stream, target: int) -> tuple[int, Sha256]:
    """Write a stream to its end into a file; size and sha256 of what was written."""
    return _hash(iter(lambda: source.read(_CHUNK_BYTES), b""), target)


def hash_file(fd: int) -> tuple[int, Sha256]:
    """The size and sha256 of a whole file."""
    return _hash(_chunks(fd), None)


def _hash(chunks: Iterable[bytes], target: int | None) -> tuple[int, Sha256]:
    digest = hashlib.sha256()
    size = 0
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
        if target is not None:
            write_all(target, chunk)
    return size, Sha256(digest.hexdigest())


def _chunks(fd: int) -> Iterator[bytes]:
    """The file as long as it is now: one that grows while it is read would never end."""
    os.lseek(fd, 0, os.SEEK_SET)
    left_bytes = os.fstat(fd).st_size
    while left_bytes and (chunk := os.read(fd, min(left_bytes, _CHUNK_BYTES))):
        left_bytes -= len(chunk)
        yield chunk


def _clone(source: int, target: int) -> bool:
    """Let both files share their blocks until one of them changes, where the file system can."""
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as error:
        if error.errno in _CANNOT_CLONE:
            return False
        raise
    return True
