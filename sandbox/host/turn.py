"""Whose turn it is at a session."""

import threading
from typing import Final

_LOOK_S: Final = 0.05
FOREVER: Final = -1


class Turn:
    """One cell at a time. Who meets another cell is told; who meets somebody who only looks waits until they have."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.is_cell = False
        """Whether it is a cell's."""

    def take_for_cell(self) -> bool:
        """False when a cell is running."""
        while not self._lock.acquire(timeout=_LOOK_S):
            if self.is_cell:
                return False
        self.is_cell = True
        return True

    def take(self, wait_s: float = 0) -> bool:
        """For anything but a cell; False when it is not free within that time."""
        return self._lock.acquire(timeout=wait_s)

    def end(self) -> None:
        self.is_cell = False
        self._lock.release()
