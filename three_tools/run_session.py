"""A run's sandbox session: there when a cell is first run, opened anew when it was lost, stopped from any thread."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from sandbox import (
    Backend,
    Cell,
    CellResult,
    OnOutput,
    SandboxError,
    SandboxFailed,
    Session,
    SessionIsGone,
    SessionSpec,
)
from three_tools.errors import CallRefused
from three_tools.tool import Report

_SOON_S = 0.05
_LONGEST_STOP_S = 10.0


class RunSession:
    """Runs a run's cells, one backend session after another; tells in the report when variables were lost.

    Left to others: what a cell is for and what comes of it (`sandbox_exec`), and when the run ends (`run`).
    """

    def __init__(
        self, spec: SessionSpec, backend: Callable[[], Backend], *, has_run_cells: Callable[[], bool], replay: str
    ) -> None:
        self._spec = spec
        self._backend = backend
        self._has_run_cells = has_run_cells
        self._replay = replay
        """How to have lost variables again."""
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._cells_at_work = 0
        self.kernel = 0
        """Which kernel holds the variables: another number means that those of the one before are lost."""
        self.only_in: int | None = None
        """The only kernel that cells may be run in, by whoever knows what variables they need; None: any."""
        self.cell_seed: int | None = None
        """Where random numbers start in the next cells; None: they go on from cell to cell."""
        self.is_cancelled = False
        self.is_starting = False
        """Whether it waits for a sandbox to start, which only an exception cuts short."""

    def run(self, cell: Cell, report: Report, on_output: OnOutput | None) -> CellResult:
        """Run a cell; a session that is gone is opened anew, and the caller is told."""
        try:
            return self._run(cell, report, on_output)
        except SessionIsGone:  # idle too long, or its host was restarted
            self._let_go()
            if self.only_in is not None:
                raise
            return self._run(cell, report, on_output)
        except SandboxFailed as error:
            self._let_go()
            raise type(error)(error.problem, f"{error.remedy}; {self._replay}") from error

    def start(self, report: Report) -> int:
        """Have a kernel to run cells in, and say which."""
        self._open(report)
        return self.kernel

    def cancel(self) -> None:
        """Stop the cell that is running, if one is, and run no other; from any thread."""
        self.is_cancelled = True
        threading.Thread(target=self._stop_cell, name="cancel", daemon=True).start()

    def require_not_cancelled(self) -> None:
        if self.is_cancelled:
            raise CallRefused("cancelled", "this run was cancelled", "open a new run to go on")

    def close(self) -> None:
        """End the session with its variables; the files stay."""
        session, self._session = self._session, None
        if session is not None:
            session.close()
        elif self.kernel or self._has_run_cells():  # it was let go of here, or by another process
            self._backend().close_session(self._spec.name)

    def release(self) -> None:
        """Let go of the session without ending it: the next call of this run, from any process, goes on with it."""
        session, self._session = self._session, None
        if session is not None:
            session.release()

    def _run(self, cell: Cell, report: Report, on_output: OnOutput | None) -> CellResult:
        session = self._open(report)
        if self.only_in not in (None, self.kernel):
            raise SessionIsGone("the session of this run was lost, and its variables with it", self._replay)
        with self._lock:
            self._cells_at_work += 1
        try:
            self.require_not_cancelled()
            result = session.run(cell.model_copy(update={"seed": self.cell_seed}), on_output)
            self.kernel += result.state == "lost"
            return result
        except (CallRefused, SandboxError):
            raise
        except BaseException:  # whoever listened has failed, or was interrupted: nobody is there to hear the answer
            self._abandon(session)
            raise
        finally:
            with self._lock:
                self._cells_at_work -= 1

    def _stop_cell(self) -> None:
        """Until it is heard: the cell may be on its way to the sandbox."""
        with suppress(SandboxError, OSError):
            while self._cells_at_work and (session := self._session) is not None and not session.interrupt():
                time.sleep(_SOON_S)

    def _abandon(self, session: Session) -> None:
        """End the cell before anything is said of its files, and keep no connection with its answer still to come."""
        until = time.monotonic() + _LONGEST_STOP_S
        with suppress(SandboxError, OSError):
            while session.interrupt() and time.monotonic() < until:
                time.sleep(_SOON_S)
        self._let_go()

    def _let_go(self) -> None:
        with suppress(SandboxError, OSError):
            self.release()

    def _open(self, report: Report) -> Session:
        self.is_starting = True
        try:
            with self._lock:
                if self._session is None:
                    self._session = self._backend().open_session(self._spec)
                    self.kernel += self._session.is_new
                    if self._session.is_new and self._has_run_cells():
                        lost = "the session of this run was lost, and its variables with it; its files are kept"
                        report.notices.append(f"{lost}. To get them back, {self._replay}")
                return self._session
        finally:
            self.is_starting = False
