"""The variables that a run's kernel holds, cell by cell, and bringing back those that a cell needs."""

import hashlib
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from typing import Protocol

from run_record import StepDone
from sandbox import Cell
from tasks.errors import StepFailed
from tasks.read_set import Files, empty_folders
from three_tools.errors import CallRefused
from three_tools.outcome import Outcome, Refusal
from three_tools.run import Run
from three_tools.tool import Report


class Plan(Protocol):
    """Which cells a cell needs the variables of."""

    def replay(self, cell: str, live: Collection[str]) -> tuple[str, ...]:
        """The cells to run first, in order, in a kernel where `live` were run."""
        ...


class Kernel:
    """Runs a recipe's cells in the run's session, each with the variables it needs.

    A cell whose result was kept left no variables, and a session may be lost: what a later cell needs is then run
    again first, with the files as they were before it; then they are put back as the record has them. Such a replay
    is part of the step of the cell that needs it.
    """

    def __init__(self, run: Run, plan: Plan, cells: Mapping[str, Cell], prelude: str) -> None:
        self._run = run
        self._plan = plan
        self._cells = cells
        self._prelude = prelude
        self._number: int | None = None
        self._live: list[str] = []
        self._found: dict[str, frozenset[str]] = {}
        """The empty folders that each cell found."""
        self.again: tuple[str, ...] = ()
        """The cells that were run again for the last one."""
        self.unlike: list[str] = []
        """Those of them that made other files than they had made."""

    def saw_before(self, name: str, files: Files) -> None:
        """What lies there before a cell: it finds the same when it has to be run again."""
        self._found[name] = empty_folders(files)

    def run(self, name: str, execute: Callable[[], Outcome]) -> Outcome:
        """Run a cell; a session that is lost before the cell begins is made anew."""
        self.again, self.unlike = (), []
        try:
            self._prepare(name)
            outcome = execute()
            if outcome.code == "conflict" and self._run.session.start(Report()) != self._number:
                self._prepare(name)
                outcome = execute()
        except StepFailed as error:
            return Outcome(tool="sandbox.exec", ok=False, refusal=Refusal("failed", error.problem, error.remedy))
        except CallRefused as error:  # while a cell was run again: the run was cancelled
            return Outcome(tool="sandbox.exec", ok=False, refusal=Refusal(error.code, error.problem, error.remedy))
        if outcome.ok:
            self._live.append(name)
        if self.again:
            outcome.report.did.insert(1, f"before it, ran again for their variables: {', '.join(self.again)}")
        return outcome

    def distrust(self) -> None:
        """Forget every variable: a cell that failed may have changed some before it did."""
        self._run.close_session()
        self._number = None

    def _prepare(self, name: str) -> None:
        self._begin()
        again = self._plan.replay(name, self._live)
        if not set(again).isdisjoint(self._live):  # a second time, it would find what it did to modules the first time
            self.distrust()
            self._begin()
            again = self._plan.replay(name, self._live)
        self.again = again
        if again:
            with self._files_put_back():
                for each in again:
                    self._replay_cell(each)
        self._run.session.cell_seed = self._seed(name)

    def _begin(self) -> None:
        """Have a kernel that knows the run."""
        session = self._run.session
        number = session.start(Report())
        if number != self._number:
            self._number, self._live = number, []
            session.only_in = number
            self._replay("the run's parameters", Cell(code=self._prelude))

    @contextmanager
    def _files_put_back(self) -> Generator[None]:
        """Whatever happens meanwhile, the files are then as they were."""
        record, folders = self._run.record, self._run.workspace.empty_folders()
        files = record.present()
        try:
            yield
        finally:
            record.bring_to(files, folders)

    def _replay_cell(self, name: str) -> None:
        self._run.session.cell_seed = self._seed(name)
        record, done = self._run.record, self._last_done(name)
        record.bring_to(record.files(done.step - 1 if done else None), self._found[name])
        self._replay(f"'{name}'", self._cells[name])
        self._live.append(name)
        made, now = done.artifacts if done else (), record.present()
        if any(now.get(artifact.path) != artifact for artifact in made):
            self.unlike.append(name)

    def _last_done(self, cell: str) -> StepDone | None:
        steps = [step.done for step in self._run.record.state.steps.values()]
        return next((done for done in reversed(steps) if done.name == cell and done.ok), None)

    def _replay(self, what: str, cell: Cell) -> None:
        result = self._run.session.run(cell, Report(), None)
        if not result.ok:
            self._run.session.require_not_cancelled()
            why = f"{result.error.ename}: {result.error.evalue}" if result.error else result.detail
            raise StepFailed(
                f"{what} had to be run again for its variables, and failed: {why}", "run the recipe with --refresh"
            )

    def _seed(self, name: str) -> int:
        """Its own for each cell: how many numbers others drew, or whether they ran at all, changes nothing."""
        return int.from_bytes(hashlib.sha256(f"{self._run.seed}\0{name}".encode()).digest()[:8])
