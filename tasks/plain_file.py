"""Files of the cache, where somebody may have put anything in their place."""

import errno
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path


def read_plain(path: Path) -> bytes:
    """A plain file's bytes; an OSError, at once, for a link, a fifo or a folder."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", str(path))
        return file.read()


def open_lock(path: Path) -> int:
    """A plain file to lock, made if need be; what lies in its place and is none, such as a link, is taken away."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise
    remove(path)
    return os.open(path, flags, 0o600)


def remove(path: Path) -> None:
    """Have nothing there, whatever it was."""
    with suppress(FileNotFoundError):
        try:
            path.unlink()
        except IsADirectoryError:
            shutil.rmtree(path)
