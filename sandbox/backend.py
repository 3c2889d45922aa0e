"""Where cells run, whatever the walls are made of. `tests/conformance` says what every backend must do."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from sandbox.cell import Cell, CellResult, Limits, Output, SessionInfo, SessionSpec

OnOutput = Callable[[Output], None]
"""Called with each output as it comes; pieces of one stream come as they are printed."""


class Session(Protocol):
    """Variables that persist from cell to cell, inside walls."""

    @property
    def info(self) -> SessionInfo: ...

    @property
    def is_new(self) -> bool:
        """Whether this call made it; False when it was there already, with its variables."""
        ...

    def run(self, cell: Cell, on_output: OnOutput | None = None) -> CellResult:
        """Run a cell. What the cell does wrong is in the result; what is raised is the caller's fault or ours."""
        ...

    def interrupt(self) -> bool:
        """Stop the running cell as its timeout would, from any thread or process; whether one was running."""
        ...

    def reset(self) -> None:
        """Forget every variable; the files stay."""
        ...

    def close(self) -> None:
        """End the session. Its files stay, its variables and processes do not. Closing twice is nothing."""
        ...

    def release(self) -> None:
        """Let go of it without ending it: another client, or this one later, goes on with its variables."""
        ...


class Backend(Protocol):
    """Opens sessions, and checks code beside them."""

    @property
    def digest(self) -> str:
        """Names everything that a cell can import."""
        ...

    def open_session(self, spec: SessionSpec) -> Session: ...

    def close_session(self, name: str) -> bool:
        """End the session of that name, whoever opened it; whether there was one."""
        ...

    def session_names(self) -> frozenset[str]:
        """The sessions that live now; none is started for asking."""
        ...

    def check(self, code: str, files: Mapping[str, Path], limits: Limits, seed: int = 0) -> CellResult:
        """Run code in a fork of its own that can write nothing and reads copies of these files, by these names."""
        ...
