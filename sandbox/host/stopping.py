"""Stopping a cell: SIGINT, SIGINT again after 2 s, SIGKILL after 3; or sooner, when it must not go on."""

import os
import signal
import time
from typing import Final

from sandbox.failure import Stop
from sandbox.host import processes

_SECOND_INTERRUPT_S: Final = 2.0
PATIENTLY_S: Final = 3.0
SOON_S: Final = 0.5
AT_ONCE_S: Final = 0.0
_NEVER: Final = float("inf")


class Stopping:
    """Why and how far a cell has been stopped. Before `begin`, nothing has happened."""

    def __init__(self, kernel: int) -> None:
        self._kernel = kernel
        self._kill_at = _NEVER
        self._interrupt_again_at = _NEVER
        self._interrupts = 0
        self._text = ""
        self.reason: Stop | None = None
        self.has_killed = False
        """From here on only the kernel's death counts, whatever it still says."""

    def begin(self, reason: Stop, text: str, within_s: float = PATIENTLY_S) -> None:
        """Begin to stop the cell; what was begun first stays the reason."""
        if self.reason is not None:
            return
        self.reason, self._text = reason, text
        now = time.monotonic()
        self._kill_at = now + within_s
        if within_s > AT_ONCE_S:
            self._interrupt()
        if within_s > _SECOND_INTERRUPT_S:
            self._interrupt_again_at = now + _SECOND_INTERRUPT_S
        self.go_on(now)

    def go_on(self, now: float) -> None:
        """Do what is due."""
        if now >= self._interrupt_again_at:
            self._interrupt_again_at = _NEVER
            self._interrupt()
        if now >= self._kill_at:
            self._kill_at = _NEVER
            self.has_killed = True
            processes.kill(self._kernel)

    @property
    def next_at(self) -> float:
        return min(self._kill_at, self._interrupt_again_at)

    def text(self) -> str:
        """Why, and for what can be waited out also how."""
        if self.reason not in ("timeout", "interrupted"):
            return self._text
        times = {0: "", 1: "interrupted", 2: "interrupted twice"}[min(2, self._interrupts)]
        how = ", then ".join(filter(None, (times, "killed" if self.has_killed else "")))
        return f"{self._text} ({how})" if how else self._text

    def _interrupt(self) -> None:
        """The kernel and what it started: a program that it waits for must hear it too."""
        self._interrupts += 1
        try:
            os.killpg(self._kernel, signal.SIGINT)
        except (ProcessLookupError, PermissionError):
            processes.kill(self._kernel, signal.SIGINT)
