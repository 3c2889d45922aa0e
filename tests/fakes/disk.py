"""A disk that fails at its k-th call: the calls are real, and one of them is refused."""

import errno
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

CALLS = ("write", "pwrite", "fsync", "fdatasync", "rename", "ftruncate", "mkdir", "open")


class FailingDisk:
    """Counts the calls that can fail and refuses the k-th; `stays_bad` refuses all after it too."""

    def __init__(
        self, fails_at: int, error: int = errno.ENOSPC, *, stays_bad: bool = False, short: bool = False
    ) -> None:
        self.fails_at = fails_at
        self.error = error
        self.stays_bad = stays_bad
        self.short = short
        self.calls = 0

    @property
    def has_failed(self) -> bool:
        return self.calls >= self.fails_at

    @contextmanager
    def installed(self) -> Generator[None]:
        with contextmanager(self._patches)():
            yield

    def _patches(self) -> Generator[None]:
        patches = [patch.object(os, name, self._guarded(name, getattr(os, name))) for name in CALLS]
        for each in patches:
            each.start()
        try:
            yield
        finally:
            for each in patches:
                each.stop()

    def _guarded(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if name == "open" and not arguments[1] & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
                return real(*arguments, **options)  # reading does not fill a disk
            self.calls += 1
            if self.calls == self.fails_at and self.short and name == "write":
                real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
            if self.calls == self.fails_at or (self.stays_bad and self.calls > self.fails_at):
                raise OSError(self.error, os.strerror(self.error))
            return real(*arguments, **options)

        return call
