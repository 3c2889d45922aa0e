"""Locks for Prefect's transactions that end with the process that holds them, however it ends."""

import fcntl
import hashlib
import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from tasks.plain_file import open_lock

_FIRST_PAUSE_S = 0.002
_LONGEST_PAUSE_S = 0.1
_PATIENCE_S = 0.2
"""How long a stop may go unnoticed."""


class FlockLockManager:
    """One flock(2) for each key, as Prefect's LockManager asks for it.

    Prefect's own file locks stay when their holder is killed, and whoever waits for one waits for ever.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._guard = threading.Lock()
        self._held: dict[str, tuple[int | None, str]] = {}
        self._reserved: set[str] = set()

    @contextmanager
    def reserved(self, key: str, is_stopped: Callable[[], bool]) -> Generator[bool]:
        """Have a lock before somebody here asks for it; whether others had it first. It may be waited for for long."""
        fd, has_waited = self._open(key), False
        try:
            while not _wait(fd, _PATIENCE_S) and not is_stopped():
                has_waited = True
            self._reserved.add(key)
            yield has_waited
        finally:
            self._reserved.discard(key)
            os.close(fd)  # and with it the lock

    def acquire_lock(
        self,
        key: str,
        holder: str,
        acquire_timeout: float | None = None,
        hold_timeout: float | None = None,  # noqa: ARG002  (the kernel ends it with its holder)
    ) -> bool:
        if self.is_lock_holder(key, holder):
            return True
        fd = None if key in self._reserved else self._open(key)
        if fd is not None and not _wait(fd, acquire_timeout):
            os.close(fd)
            return False
        with self._guard:
            self._held[key] = (fd, holder)
        return True

    async def aacquire_lock(
        self, key: str, holder: str, acquire_timeout: float | None = None, hold_timeout: float | None = None
    ) -> bool:
        return self.acquire_lock(key, holder, acquire_timeout, hold_timeout)

    def release_lock(self, key: str, holder: str) -> None:
        with self._guard:
            held = self._held.get(key)
            if held is None or held[1] != holder:
                raise ValueError(f"'{holder}' does not hold the lock for {key[:12]}")
            del self._held[key]
        if held[0] is not None:
            os.close(held[0])

    def is_locked(self, key: str) -> bool:
        return not self.wait_for_lock(key, 0)

    def is_lock_holder(self, key: str, holder: str) -> bool:
        with self._guard:
            return key in self._held and self._held[key][1] == holder

    def wait_for_lock(self, key: str, timeout: float | None = None) -> bool:
        if key in self._reserved:
            return True
        fd = self._open(key)
        try:
            return _wait(fd, timeout)
        finally:
            os.close(fd)

    async def await_for_lock(self, key: str, timeout: float | None = None) -> bool:
        return self.wait_for_lock(key, timeout)

    def _open(self, key: str) -> int:
        name = hashlib.sha256(key.encode()).hexdigest()[:32]  # whatever is in a key, no two share a file
        return open_lock(self._folder / name)


def _wait(fd: int, timeout_s: float | None) -> bool:
    """Whether the lock was had in time; signals are heard between two tries."""
    until = None if timeout_s is None else time.monotonic() + timeout_s
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if until is not None and time.monotonic() >= until:
                return False
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
        else:
            return True
