"""What lies in a workspace right now, seen from outside and in one pass."""

import os
import stat
from dataclasses import dataclass, field
from typing import NamedTuple

from run_record.beneath import check_path, open_folder, why_not_plain
from run_record.errors import CallerError, NotFound, UnsafePath
from run_record.plain_text import printable


class Signature(NamedTuple):
    """What changes when a file changes. A cell can set mtime as it likes, but not ctime."""

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Signature":
        return cls(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@dataclass(frozen=True, slots=True)
class Scan:
    """The plain files of a workspace by path, and what else lies there with the reason it was passed over."""

    files: dict[str, Signature] = field(default_factory=dict[str, Signature])
    skipped: dict[str, str] = field(default_factory=dict[str, str])


def scan(root: int) -> Scan:
    """Look at everything beneath a directory, following no link."""
    found = Scan()
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            fd = open_folder(root, folder)
        except NotFound:
            continue  # removed since it was listed
        except CallerError as error:
            found.skipped[folder] = error.problem
            continue
        try:
            folders += _look_into(fd, folder, found)
        finally:
            os.close(fd)
    return found


def _look_into(fd: int, folder: str, found: Scan) -> list[str]:
    """Ten thousand files go through here at every step: what happens for each is kept short."""
    deeper: list[str] = []
    files = found.files
    prefix = f"{folder}/" if folder else ""
    with os.scandir(fd) as entries:
        for entry in entries:
            name = entry.name
            path = prefix + name
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError as error:
                found.skipped[path] = f"it cannot be looked at: {error.strerror}"
                continue
            if not name.isascii() or len(path) > 255:
                try:
                    check_path(path)
                except UnsafePath as error:
                    found.skipped[f"{printable(path)} (not its real name)"] = error.problem
                    continue
            if not (reason := why_not_plain(status)):
                files[path] = Signature(status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            elif stat.S_ISDIR(status.st_mode):
                deeper.append(path)
            else:
                found.skipped[path] = f"it is {reason}"
    return deeper


def empty_folders(root: int) -> frozenset[str]:
    """The folders beneath a directory that hold nothing at all, following no link."""
    found: set[str] = set()
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            fd = open_folder(root, folder)
        except CallerError:
            continue  # removed since, or not ours to look into
        try:
            with os.scandir(fd) as entries:
                inside = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        finally:
            os.close(fd)
        if folder and not inside:
            found.add(folder)
        pending += [f"{folder}/{name}" if folder else name for name, is_folder in inside if is_folder]
    return frozenset(found)
