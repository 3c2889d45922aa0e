"""Disks that fail at their k-th call, or keep a list of what was asked of them: the calls are real."""

import errno
import os
import re
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

CALLS = ("write", "pwrite", "fsync", "fdatasync", "rename", "ftruncate", "mkdir", "open")


class GuardedDisk:
    """A disk whose calls go through a guard while it is installed."""

    @contextmanager
    def installed(self) -> Generator[None]:
        with ExitStack() as stack:
            for name in CALLS:
                stack.enter_context(patch.object(os, name, self._guarded(name, getattr(os, name))))
            yield

    def _guarded(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        raise NotImplementedError


class ListeningDisk(GuardedDisk):
    """Keeps the order in which files were written, synced and renamed, by their last two names."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def _guarded(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if name in ("write", "pwrite", "fsync", "fdatasync"):
                self._hear(f"{name} {_short(os.readlink(f'/proc/self/fd/{arguments[0]}'))}")
            elif name == "rename":
                self._hear(f"{name} {_short(os.fspath(arguments[0]))} → {_short(os.fspath(arguments[1]))}")
            return real(*arguments, **options)

        return call

    def _hear(self, what: str) -> None:
        if self.heard[-1:] != [what]:
            self.heard.append(what)


def _short(path: str) -> str:
    """objects/incoming/DRAFT, objects/ab/OBJECT, or the last two parts."""
    path = re.sub(r"/incoming/[0-9a-f]{16}$", "/incoming/DRAFT", path)
    path = re.sub(r"/objects/[0-9a-f]{2}/[0-9a-f]{62}$", "/objects/ab/OBJECT", path)
    return re.sub(r"/objects/[0-9a-f]{2}$", "/objects/ab", path).split("/", path.count("/") - 1)[-1]


class FailingDisk(GuardedDisk):
    """Counts the calls that can fail and refuses the k-th; `stays_bad` refuses all after it too, or those it names."""

    def __init__(
        self,
        fails_at: int,
        error: int = errno.ENOSPC,
        *,
        stays_bad: bool = False,
        short: bool = False,
        names: tuple[str, ...] = CALLS,
    ) -> None:
        self.names = names
        self.fails_at = fails_at
        self.error = error
        self.stays_bad = stays_bad
        self.short = short
        self.calls = 0

    @property
    def has_failed(self) -> bool:
        return self.calls >= self.fails_at

    def _guarded(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if name not in self.names:
                return real(*arguments, **options)
            if name == "open" and not arguments[1] & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
                return real(*arguments, **options)  # reading does not fill a disk
            self.calls += 1
            if self.calls == self.fails_at and self.short and name == "write":
                real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
            if self.calls == self.fails_at or (self.stays_bad and self.calls > self.fails_at):
                raise OSError(self.error, os.strerror(self.error))
            return real(*arguments, **options)

        return call
