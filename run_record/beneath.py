"""Opening a path beneath a directory and nowhere else, whatever links a hostile writer swaps in meanwhile."""

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache

from run_record.errors import NotFound, UnsafePath
from run_record.plain_text import printable

_OPENAT2 = 437  # the same number on every architecture
_RESOLVE = 0x08 | 0x04 | 0x02  # RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS
LARGEST_FILE_BYTES = 16_000_000_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
# O_NONBLOCK: opening a fifo must not wait for its other end.
_FILE = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | os.O_NOFOLLOW


def check_path(path: str) -> str:
    """The path itself, if it is relative, plain and of a length the kernel takes; otherwise UnsafePath."""
    problem = _problem_with(path)
    if problem:
        shown = printable(path if len(path) <= 80 else f"{path[:77]}…")
        raise UnsafePath(
            f"the path '{shown}' is refused: {problem}", "write it as folder/file, relative to the run's tmp/"
        )
    return path


def _problem_with(path: str) -> str:
    encoded = path.encode(errors="replace")
    parts = path.split("/")
    problems = {
        "it is empty": not path,
        "it is not UTF-8": any("\ud800" <= char <= "\udfff" for char in path),
        "it holds a NUL character": "\0" in path,
        "it is absolute": path.startswith("/"),
        "it is longer than 4,095 bytes": len(encoded) > 4095,
        "it has a part that is empty, '.' or '..'": any(part in ("", ".", "..") for part in parts),
        "a part of it is longer than 255 bytes": any(len(part) > 255 for part in encoded.split(b"/")),
    }
    return next((problem for problem, is_so in problems.items() if is_so), "")


def open_regular(root: int, path: str, flags: int = os.O_RDONLY) -> int:
    """A descriptor of the plain file at `path` beneath the directory `root`; never of anything else.

    Only an opened file can be judged: what a name stood for a moment ago proves nothing.
    """
    check_path(path)
    with _refusals(path):
        fd = _open(root, path, flags | _FILE)
    reason = why_not_plain(os.fstat(fd))
    if reason:
        os.close(fd)
        raise UnsafePath(f"'{printable(path)}' is refused: it is {reason}", "only plain files are read and written")
    return fd


def open_folder(root: int, path: str, *, create: bool = False) -> int:
    """A descriptor of a folder beneath `root`; `""` is the root itself."""
    if not path:
        return os.dup(root)
    check_path(path)
    with _refusals(path):
        return _walk(root, path.split("/"), create=True) if create else _open(root, path, _FOLDER)


def why_not_plain(status: os.stat_result) -> str:
    """Empty for a plain file; otherwise what it is instead."""
    if stat.S_ISREG(status.st_mode):
        # Its other name may lie outside the run, or be written to behind our back.
        if status.st_nlink > 1:
            return f"a hard link ({status.st_nlink} names)"
        # A file with nothing but a hole in it has any size for free, and would keep us reading for hours.
        return f"larger than {LARGEST_FILE_BYTES:,} bytes" if status.st_size > LARGEST_FILE_BYTES else ""
    kinds = {
        stat.S_IFLNK: "a symbolic link",
        stat.S_IFIFO: "a fifo",
        stat.S_IFSOCK: "a socket",
        stat.S_IFDIR: "a folder",
    }
    return kinds.get(stat.S_IFMT(status.st_mode), "a device")


@cache
def has_openat2() -> bool:
    """Whether this kernel, and whatever filter we run under, lets openat2 through."""
    root = os.open("/", _FOLDER)
    try:
        os.close(_openat2(root, "proc", _FOLDER))
    except OSError as error:
        return error.errno not in (errno.ENOSYS, errno.EPERM)
    finally:
        os.close(root)
    return True


def _open(root: int, path: str, flags: int) -> int:
    if has_openat2():
        return _openat2(root, path, flags)
    # Before Linux 5.6, or behind an old seccomp filter: one part at a time, none of them a link.
    *folders, name = path.split("/")
    parent = _walk(root, folders, create=False)
    try:
        return os.open(name, flags, dir_fd=parent)
    finally:
        os.close(parent)


def _openat2(root: int, path: str, flags: int) -> int:
    how = struct.pack("QQQ", flags, 0, _RESOLVE)
    for _ in range(10_000):
        fd: int = _libc().syscall(_OPENAT2, root, os.fsencode(path), how, len(how))
        if fd >= 0:
            return fd
        # EAGAIN: something was renamed during the look-up and the kernel cannot vouch for it; look again.
        if ctypes.get_errno() not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), path)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _walk(root: int, folders: list[str], *, create: bool) -> int:
    current = os.dup(root)
    for folder in folders:
        try:
            if create:
                _make_if_missing(folder, current)
            entered = os.open(folder, _FOLDER, dir_fd=current)
        finally:
            os.close(current)
        current = entered
    return current


def _make_if_missing(folder: str, parent: int) -> None:
    with suppress(FileExistsError):  # opening it will say whether it is a folder
        os.mkdir(folder, 0o700, dir_fd=parent)
        if (owner := os.fstat(parent)).st_uid != os.geteuid():  # root works in a folder that belongs to a cell's user
            os.chown(folder, owner.st_uid, owner.st_gid, dir_fd=parent, follow_symlinks=False)


@contextmanager
def _refusals(path: str) -> Generator[None]:
    shown = printable(path)
    try:
        yield
    except FileNotFoundError:
        raise NotFound(f"no file '{shown}' in this run", "`partner files ls RUN` shows what is there") from None
    except OSError as error:
        why = {
            errno.ELOOP: "a link is on the way",
            errno.EXDEV: "it leads out of the run's tmp/",
            errno.ENOTDIR: "a part of it is a link or a file, not a folder",
            errno.EISDIR: "it is a folder",
            errno.ENXIO: "it is a socket, a device or a fifo that nobody reads",
            errno.EAGAIN: "it is renamed or leased all the time",
            errno.EACCES: "this user may not open it",
        }.get(error.errno or 0)
        if why is None:
            raise
        raise UnsafePath(f"'{shown}' is refused: {why}", "only plain files are read and written") from None
