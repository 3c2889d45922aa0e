"""A session's work directory, seen from outside: what lies there, and whose it is."""

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from sandbox.linux import open_beneath

_DEEPEST: Final = 3500

Signature = tuple[int, int, int, int]
"""inode, size, mtime, ctime: a cell can forge mtime, but not ctime."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a cell did to the files of its work directory."""

    created: list[str]
    changed: list[str]
    deleted: list[str]


class CannotLook(Exception):
    """A folder that is shut, or nests deeper than a path can name: what is in it cannot be seen."""


def walk(root: str) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Each folder beneath this one with what is in it."""
    for _, folder, entries in _walk(root):
        yield folder, entries


def _walk(root: str) -> Iterator[tuple[int, str, list[os.DirEntry[str]]]]:
    """The same with the open folder at the top. Links are never followed, whoever swaps them in meanwhile."""
    try:
        top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise CannotLook from error  # a cell shut it
    try:
        pending = [""]
        while pending:
            folder = pending.pop()
            if len(folder) > _DEEPEST:
                raise CannotLook
            entries = _entries(top, folder)
            yield top, folder, entries
            pending += [f"{folder}{entry.name}/" for entry in entries if entry.is_dir(follow_symlinks=False)]
    finally:
        os.close(top)


def _entries(top: int, folder: str) -> list[os.DirEntry[str]]:
    """What is in a folder, with its stat taken while it is open; nothing when it went away or was shut meanwhile."""
    try:
        descriptor = open_beneath(top, folder)
    except PermissionError:
        raise CannotLook from None
    except OSError:
        return []
    try:
        found: list[os.DirEntry[str]] = []
        with os.scandir(descriptor) as entries:
            for entry in entries:
                with suppress(OSError):
                    entry.stat(follow_symlinks=False)  # kept by the entry
                    found.append(entry)
        return found
    finally:
        os.close(descriptor)


def scan(root: str) -> dict[str, Signature]:
    """Every file beneath the folder, by its relative path; links and special files count as they are."""
    found: dict[str, Signature] = {}
    with suppress(CannotLook):  # the watchdog stops such a cell
        for folder, entries in walk(root):
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    path = f"{folder}{entry.name}"
                    found[path] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return found


def compare(before: dict[str, Signature], after: dict[str, Signature]) -> Changes:
    return Changes(
        created=sorted(after.keys() - before.keys()),
        changed=sorted(path for path in after.keys() & before.keys() if after[path] != before[path]),
        deleted=sorted(before.keys() - after.keys()),
    )


def disk_bytes(*roots: str) -> int:
    """What folders take on disk."""
    return sum(
        entry.stat(follow_symlinks=False).st_blocks * 512
        for root in roots
        for _, found in walk(root)
        for entry in found
    )


def remove(root: str) -> None:
    """A folder and all that is in it, however deep it nests and whatever a cell shut in it."""
    with suppress(RecursionError):
        shutil.rmtree(root, ignore_errors=True)
    if os.path.lexists(root):
        for command in (["/bin/chmod", "-R", "u+rwX"], ["/bin/rm", "-rf"]):
            subprocess.run([*command, "--", root], check=False, stderr=subprocess.DEVNULL)  # noqa: S603  (our own folder)


def empty(root: str) -> None:
    """Take away all that is in a folder. Only while nothing can put anything there."""
    os.chmod(root, 0o700)
    with os.scandir(root) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.path, 0o700)
                remove(entry.path)
            else:
                os.unlink(entry.path)


def hand_over(root: str, uid: int, from_uids: range) -> None:
    """Give a folder and what is in it to a session's user. Only while no cell can run in it.

    Only what is ours or was another session's, no file with a second name (that name may be elsewhere), and no file
    that every user can read already.
    """
    with suppress(CannotLook):
        for top, folder, entries in _walk(root):
            _give(open_beneath(top, folder), uid, from_uids)
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    within = open_beneath(top, folder)
                    try:
                        _give(os.open(entry.name, os.O_PATH | os.O_NOFOLLOW, dir_fd=within), uid, from_uids)
                    except FileNotFoundError:
                        continue
                    finally:
                        os.close(within)


def _give(descriptor: int, uid: int, from_uids: range) -> None:
    try:
        status = os.fstat(descriptor)
        is_ours = status.st_uid == os.geteuid() or status.st_uid in from_uids
        is_shut = stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and not status.st_mode & stat.S_IROTH
        if status.st_uid != uid and is_ours and (is_shut or stat.S_ISDIR(status.st_mode)):
            os.chown(f"/proc/self/fd/{descriptor}", uid, uid)
    finally:
        os.close(descriptor)


def why_not_passable(path: str, uid: int) -> str | None:
    """The folder above `path` that a user cannot pass through, if there is one."""
    parts = path.split("/")
    for count in range(1, len(parts)):
        folder = "/".join(parts[:count]) or "/"
        status = os.stat(folder)
        bits = status.st_mode >> (6 if status.st_uid == uid else 3 if status.st_gid == uid else 0)
        if not bits & 1:
            return folder
    return None
