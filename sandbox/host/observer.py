"""Which files a cell read and which folders it listed, observed from outside by inotify."""

import ctypes
import os
import struct
from collections.abc import Container, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from sandbox.linux import check, libc, open_beneath

_ACCESS, _MODIFY, _ATTRIB, _OPEN, _MOVED_FROM, _MOVED_TO = 0x1, 0x2, 0x4, 0x20, 0x40, 0x80
_CREATE, _DELETE = 0x100, 0x200
_OVERFLOW, _IGNORED, _IS_FOLDER = 0x4000, 0x8000, 0x40000000
_ONLY_FOLDERS = 0x1000000
_CHANGES = _MODIFY | _ATTRIB | _CREATE | _DELETE | _MOVED_TO | _MOVED_FROM
_WATCHED = _ACCESS | _OPEN | _CHANGES | _ONLY_FOLDERS
_ROUNDS, _READS = 20, 100
_EVENT = struct.Struct("iIII")


@dataclass(frozen=True, slots=True)
class Observed:
    """What was seen; `is_complete` is False when the kernel dropped events, or could not watch."""

    read: list[str]
    listed: list[str]
    is_complete: bool


class Observer:
    """Watches an open folder and everything beneath it."""

    def __init__(self, top: int) -> None:
        self._top = top
        self._folders: dict[int, str] = {}
        self._is_complete = True
        self._seen: dict[str, int] = {}
        self._were_there: set[str] = set()
        self._has_changed = True
        self._listed: set[str] = set()
        try:
            self._inotify = check(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC), "inotify_init1")
        except OSError:
            self._inotify = -1  # the user's instances are used up
        else:
            self._watch("")

    def begin(self) -> bool:
        """Forget what happened so far; whether nothing changed since the last cell."""
        self._is_complete = self._inotify >= 0
        for _ in range(_ROUNDS):  # taking up new folders makes events of its own
            if not self._take():
                break
        else:
            self._is_complete = False  # something renames folders all the time
        self._seen.clear()
        self._listed.clear()
        self._were_there = set(self._folders.values())
        is_unchanged, self._has_changed = not self._has_changed, False
        return is_unchanged and self._is_complete

    @contextmanager
    def aside(self) -> Generator[None]:
        """While the host itself looks at the folders, what is listed is not the cell's doing."""
        self._take()
        yield
        listed = self._listed.copy()
        self._take()
        self._listed = listed

    def end(self, existed: Container[str]) -> Observed:
        """What the cell read of the files, and listed of the folders, that were there before it."""
        self._take()
        self._has_changed = not self._is_complete
        read = sorted(path for path, seen in self._seen.items() if _was_read(seen) and path in existed)
        listed = sorted(folder.rstrip("/") or "." for folder in self._listed & self._were_there)
        return Observed(read, listed, self._is_complete)

    def close(self) -> None:
        if self._inotify >= 0:
            os.close(self._inotify)
            self._inotify = -1

    def _take(self) -> bool:
        """Take in what happened; whether there was a new folder."""
        has_new_folder = False
        for folder, mask, name in self._events():
            path = f"{folder}{name}"
            self._has_changed |= bool(mask & _CHANGES)
            if not mask & _IS_FOLDER:
                self._seen[path] = self._seen.get(path, 0) | mask
            elif mask & (_CREATE | _MOVED_TO) and name:
                self._watch(f"{path}/")
                has_new_folder = True
            elif mask & _ACCESS:
                self._listed.add(f"{path}/" if name else path)
        return has_new_folder

    def _events(self) -> list[tuple[str, int, str]]:
        events: list[tuple[str, int, str]] = []
        for _ in range(_READS if self._inotify >= 0 else 0):
            try:
                data = os.read(self._inotify, 1 << 16)
            except BlockingIOError:
                return events
            position = 0
            while position < len(data):
                watch, mask, _, length = _EVENT.unpack_from(data, position)
                position += _EVENT.size
                name = os.fsdecode(data[position : position + length].rstrip(b"\0"))
                position += length
                if mask & _OVERFLOW:
                    self._is_complete = False
                elif mask & _IGNORED:
                    self._folders.pop(watch, None)
                elif watch in self._folders:
                    events.append((self._folders[watch], mask, name))
        self._is_complete = False
        return events

    def _watch(self, folder: str) -> None:
        """Watch a folder and those in it, all the way down."""
        pending = [folder]
        while pending:
            folder = pending.pop()
            try:
                names = self._watch_one(folder)
            except FileNotFoundError:
                continue
            except OSError:
                self._is_complete = False
                continue
            pending += [f"{folder}{name}/" for name in names]

    def _watch_one(self, folder: str) -> list[str]:
        """Watch one folder, reached without passing a link; the names of the folders in it."""
        descriptor = open_beneath(self._top, folder)
        try:
            path = f"/proc/self/fd/{descriptor}".encode()
            watch = check(libc.inotify_add_watch(self._inotify, path, ctypes.c_uint32(_WATCHED)), "inotify_add_watch")
            self._folders[watch] = folder
            with os.scandir(descriptor) as entries:
                return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        finally:
            os.close(descriptor)


def _was_read(seen: int) -> bool:
    """Read, or opened and left as it was. What was opened and changed without being read was overwritten."""
    return bool(seen & _ACCESS or (seen & _OPEN and not seen & (_MODIFY | _MOVED_TO)))
