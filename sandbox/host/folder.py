"""A session's work directory, seen from outside: what lies there, and whose it is."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

Signature = tuple[int, int, int, int]
"""inode, size, mtime, ctime: a cell can forge mtime, but not ctime."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a cell did to the files of its work directory."""

    created: list[str]
    changed: list[str]
    deleted: list[str]


def scan(root: str) -> dict[str, Signature]:
    """Every file beneath the folder, by its relative path; links and special files count as they are."""
    found: dict[str, Signature] = {}
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            entries = os.scandir(os.path.join(root, folder) if folder else root)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue  # it went away, or was shut, while we looked
        with entries:
            for entry in entries:
                path = f"{folder}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    pending.append(f"{path}/")
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                found[path] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return found


def compare(before: dict[str, Signature], after: dict[str, Signature]) -> Changes:
    return Changes(
        created=sorted(after.keys() - before.keys()),
        changed=sorted(path for path in after.keys() & before.keys() if after[path] != before[path]),
        deleted=sorted(before.keys() - after.keys()),
    )


def disk_bytes(*roots: str) -> int:
    """What folders take on disk; files that come and go meanwhile do not matter."""
    total = 0
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in names:
                try:
                    total += os.lstat(os.path.join(folder, name)).st_blocks * 512
                except OSError:
                    continue
    return total


def hand_over(root: str, uid: int, from_uids: range) -> None:
    """Give a folder and what is in it to a session's user. Only while no cell can run in it.

    Only what is ours or was another session's, no file with a second name (that name may be elsewhere), and no file
    that every user can read already.
    """
    for path in (root, *_beneath(root)):
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
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
    for folder, folders, names in os.walk(root):
        yield from (os.path.join(folder, name) for name in (*folders, *names))


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
