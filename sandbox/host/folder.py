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


class TooDeep(Exception):
    """Folders that nest deeper than a path can name: what is in them cannot be looked at."""


def walk(root: str) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Each folder beneath this one with what is in it. Links are never followed, whoever swaps them in meanwhile."""
    try:
        top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # a cell may have shut or removed it
    try:
        pending = [""]
        while pending:
            folder = pending.pop()
            if len(folder) > _DEEPEST:
                raise TooDeep
            entries = _entries(top, folder)
            yield folder, entries
            pending += [f"{folder}{entry.name}/" for entry in entries if entry.is_dir(follow_symlinks=False)]
    finally:
        os.close(top)


def _entries(top: int, folder: str) -> list[os.DirEntry[str]]:
    """What is in a folder, with its stat taken while it is open; nothing when it went away or was shut meanwhile."""
    try:
        descriptor = open_beneath(top, folder)
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
    with suppress(TooDeep):  # the watchdog stops such a cell
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
    """A folder and all that is in it, however deep it nests."""
    try:
        shutil.rmtree(root, ignore_errors=True)
    except RecursionError:
        subprocess.run(["/bin/rm", "-rf", "--", root], check=False)  # noqa: S603  (our own scratch folder)


def hand_over(root: str, uid: int, from_uids: range) -> None:
    """Give a folder and what is in it to a session's user. Only while no cell can run in it.

    Only what is ours or was another session's, no file with a second name (that name may be elsewhere), and no file
    that every user can read already.
    """
    for path in (root, *_beneath(root)):
        try:
            descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # nests too deep
        try:
            status = os.fstat(descriptor)
            is_ours = status.st_uid == os.geteuid() or status.st_uid in from_uids
            is_shut = stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and not status.st_mode & stat.S_IROTH
            is_plain = stat.S_ISDIR(status.st_mode) or is_shut
            if status.st_uid != uid and is_ours and is_plain:
                os.chown(f"/proc/self/fd/{descriptor}", uid, uid)
        finally:
            os.close(descriptor)


def _beneath(root: str) -> Iterator[str]:
    with suppress(TooDeep):
        for folder, entries in walk(root):
            yield from (os.path.join(root, folder, entry.name) for entry in entries)


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
