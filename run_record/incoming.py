"""Files in the making: half-written bytes stay out of sight until they are whole."""

import fcntl
import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Draft:
    """A file in the making: written through `fd`, then renamed from `path` to where it belongs."""

    fd: int
    path: Path


class Incoming:
    """A folder for files and folders in the making, on the file system they will be renamed within.

    Whoever makes something holds the folder's lock shared, so nobody holds it after a kill:
    the next one then gets it alone for a moment and removes what was left behind.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_swept = False

    @contextmanager
    def draft(self, mode: int = 0o600) -> Generator[Draft]:
        """A new empty file; unless it is renamed away it is removed in the end."""
        with self._entered():
            path = self._folder / secrets.token_hex(8)
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            try:
                yield Draft(fd, path)
            finally:
                os.close(fd)
                path.unlink(missing_ok=True)

    @contextmanager
    def draft_folder(self, mode: int) -> Generator[Path]:
        """A new empty folder; unless it is renamed away it is removed in the end."""
        with self._entered():
            path = self._folder / secrets.token_hex(8)
            path.mkdir(mode)
            try:
                yield path
            finally:
                shutil.rmtree(path, ignore_errors=True)

    @contextmanager
    def _entered(self) -> Generator[None]:
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not self._is_swept:
                self._sweep(folder)
                self._is_swept = True
            fcntl.flock(folder, fcntl.LOCK_SH)
            yield
        finally:
            os.close(folder)

    def _sweep(self, folder: int) -> None:
        with suppress(BlockingIOError):  # somebody is making something: what was left stays for the next
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for left in self._folder.iterdir():
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink(missing_ok=True)
