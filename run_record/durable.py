"""The few calls by which bytes come to rest on disk; everything durable in this room goes through them."""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from run_record.errors import RunIsBusy


def write_all(fd: int, data: bytes) -> None:
    """Write every byte: one `write` may take fewer than it was given, as when the disk fills up."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def replace_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Give a file new content at one stroke: a reader sees the old bytes or the new, also after a power cut."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    try:
        try:
            write_all(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def make_directory(path: Path, mode: int) -> None:
    """Make a directory whose name survives a power cut; one that exists stays as it is."""
    try:
        path.mkdir(mode)
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        sync_directory(path.parent)


@contextmanager
def locked(fd: int, *, shared: bool = False, wait_s: float = 10.0) -> Generator[None]:
    """Hold the file's lock; the kernel releases it if we die. Locks here are held for milliseconds."""
    deadline = time.monotonic() + wait_s
    pause_s = 0.0005
    while True:
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise RunIsBusy(
                    f"another process has held the lock for over {wait_s:g} s",
                    "find it with `fuser -v` on the run's journal.jsonl; is it stopped?",
                ) from None
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.02)
    try:
        yield
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)
