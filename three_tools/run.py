"""A run at work: everything it needs in one object, opened together and closed together, whatever happens."""

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from run_record import Home, ObjectStore, Question, RunId, RunRecord, StepDone, StepEvaluated, Workspace, lease
from run_record.changes import changes
from run_record.clock import Clock
from run_record.errors import MachineRefused, RunRecordError
from run_record.facts import EndState
from run_record.plain_text import printable
from sandbox import (
    Backend,
    Cell,
    CellResult,
    Limits,
    OnOutput,
    SandboxError,
    SessionSpec,
)
from three_tools.after_call import Ask, Recorded, judge_step, record_call
from three_tools.browser_search import BROWSER_SEARCH
from three_tools.errors import CallRefused
from three_tools.evaluator.evaluator import Evaluator
from three_tools.outcome import Outcome, Refusal
from three_tools.policy import PERSON, Context, Profile
from three_tools.registry import Registry
from three_tools.run_context import RunContext, run_context
from three_tools.run_session import RunSession
from three_tools.sandbox_exec import SANDBOX_EXEC
from three_tools.search.provider import SearchProvider
from three_tools.tmp_files import TMP_FILES
from three_tools.tool import Report

THE_TOOLS = (SANDBOX_EXEC, BROWSER_SEARCH, *TMP_FILES)
_LONGEST_REASON = 500


def standard_registry() -> Registry:
    """A registry with the three tools; doors and agents add theirs."""
    return Registry(THE_TOOLS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What runs are given to work with. Sandbox and search are made when they are first needed."""

    backend: Callable[[], Backend]
    search: Callable[[], SearchProvider]
    limits: Limits = field(default_factory=Limits)
    pass_threshold: float = 0.8
    command: str = "partner"
    """How a person calls the command line for this home: advice to them names it."""
    registry: Registry = field(default_factory=standard_registry)


class Run:
    """One run at work: calls tools, records every call with its files, and has it judged.

    Holds the record (journal, workspace, CEL.md) and the sandbox session. Which tools there are and who may call
    them is the registry's business; what is written down of a call, after_call's.
    """

    def __init__(
        self, home: Home, record: RunRecord, equipment: Equipment, caller: Context, *, is_runner: bool = True
    ) -> None:
        self.home = home
        self.record = record
        self.caller = caller
        self.on_output: OnOutput | None = None
        """Told what cells print, as they print it."""
        self._equipment = equipment
        self._is_runner = is_runner
        self._lock = threading.Lock()
        self._backend: Backend | None = None
        self._search: SearchProvider | None = None
        command = equipment.command
        self.session = RunSession(
            SessionSpec(name=self.run_id, work=str(self.workspace.root), limits=equipment.limits, seed=self.seed),
            lambda: self.backend,
            has_run_cells=self._has_run_cells,
            replay=f"run its cells again: {command} cel {self.run_id} --code | {command} exec {self.run_id} --file -",
        )

    @property
    def run_id(self) -> RunId:
        return self.record.state.opened.run_id

    @property
    def workspace(self) -> Workspace:
        return self.record.workspace

    @property
    def objects(self) -> ObjectStore:
        return self.home.objects

    @property
    def registry(self) -> Registry:
        return self._equipment.registry

    @property
    def profile(self) -> Profile:
        """What the caller of this run may do."""
        return self.registry.profile_of(self.caller)

    @property
    def clock(self) -> Clock:
        """What time it is; what day the run takes for today is `as_of`."""
        return self.home.clock

    @property
    def seed(self) -> int:
        return self.record.state.opened.seed

    @property
    def as_of(self) -> str:
        return self.record.state.opened.as_of

    @property
    def search(self) -> SearchProvider:
        with self._lock:
            self._search = self._search or self._equipment.search()
            return self._search

    @property
    def backend(self) -> Backend:
        with self._lock:
            self._backend = self._backend or self._equipment.backend()
            return self._backend

    @property
    def evaluator(self) -> Evaluator:
        return Evaluator(lambda: self.backend, self.objects, self._equipment.pass_threshold)

    def context(self) -> RunContext:
        """The record, parsed back: where each artifact lives, which steps passed, what is next."""
        self.record.catch_up()
        return run_context(self.record)

    def call(self, tool: str, arguments: object, ask: Ask | None = None) -> Recorded:
        """Call a tool, record it and have it judged. What is our own failure is recorded, then raised."""
        ask, report, started = ask or Ask(), Report(), time.perf_counter()
        try:
            outcome = self.execute(tool, arguments, ask, report)
            done = record_call(self.record, outcome, ask)
        except BaseException as error:
            self.record_broken(tool, error, ask, report, time.perf_counter() - started)
            raise
        return self.judge(outcome, done)

    def record_broken(self, tool: str, error: BaseException, ask: Ask, report: Report, seconds: float) -> None:
        """Record a call that did not come back, with what it had done; what went wrong first is what is raised."""
        with suppress(RunRecordError):
            self._record_broken(_broken(self.registry.name_of(tool), error, report, seconds), ask)

    def execute(self, tool: str, arguments: object, ask: Ask | None = None, report: Report | None = None) -> Outcome:
        """The first half of a call: guarded and run, nothing recorded."""
        try:
            self.registry.guard(self.caller, tool)
            self._require_ready(ask.needs if ask else ())
        except CallRefused as error:
            return self.registry.refused(tool, arguments, error, report)
        return self.registry.execute(self.caller, tool, arguments, self, report)

    def record_outcome(self, outcome: Outcome, ask: Ask | None = None) -> Recorded:
        """The second half: files, objects, Step Block, evaluation."""
        return self.judge(outcome, self.record_call(outcome, ask or Ask()))

    def record_call(self, outcome: Outcome, ask: Ask) -> StepDone | None:
        """Of that half the first: it stands in the record, and has no verdict yet."""
        return record_call(self.record, outcome, ask)

    def judge(self, outcome: Outcome, done: StepDone | None) -> Recorded:
        """The last of it, for a call that stands in the record."""
        return Recorded(outcome, done, judge_step(self.record, self.evaluator, done) if done else None)

    def run_cell(self, cell: Cell, report: Report) -> CellResult:
        if not self._is_runner:
            raise CallRefused("conflict", "only who holds the run may run cells", "join it as its runner")
        return self.session.run(cell, report, self.on_output)

    def cancel(self) -> None:
        """Stop the cell that is running, if one is, and refuse every further call; from any thread."""
        self.session.cancel()

    def recover(self) -> None:
        """Record attempts that never ended, and judge every step that has no verdict: whoever ran them is gone."""
        self._record_lost_attempts("the process that ran it ended before it did")
        for step in list(self.record.state.unjudged.values()):
            judge_step(self.record, self.evaluator, step.done)

    def _record_lost_attempts(self, why: str) -> None:
        for begun in list(self.record.state.begun.values()):
            lost = Refusal("failed", why)
            report = Report(inputs={"attempt": begun.attempt}, cause="lost", has_begun=True)
            ask = Ask(name=begun.name, attempt=begun.attempt)
            record_call(self.record, Outcome(tool=begun.tool, ok=False, refusal=lost, report=report), ask)

    def end(self, state: EndState, reason: str = "") -> None:
        """Close the run: session ended, what nobody recorded found, every step judged or marked, record closed."""
        self.close_session()
        self._record_lost_attempts("the run ended, and nobody had said how it did")
        self._record_leftovers()
        for number in list(self.record.state.pending):
            critique = "the run ended before it was judged"
            self.record.record_evaluation(StepEvaluated(step=number, verdict="NOT EVALUATED", critique=critique))
        self.record.close(state, printable(reason))

    def close_session(self) -> None:
        """End the session with its variables; one that cannot be ended now ends when it was idle too long."""
        with suppress(SandboxError):
            self.session.close()

    def _record_leftovers(self) -> None:
        """What was put into tmp/ behind the record's back becomes part of it before the run ends."""
        seen = self.record.look()
        if changes(seen, self.record.state).is_anything:
            did = "looked through tmp/ before closing, and found what no step had recorded"
            self.record_outcome(Outcome(tool="tmp.list", ok=True, report=Report(did=[did], seen=seen)))

    def _require_ready(self, needs: Sequence[str]) -> None:
        self.session.require_not_cancelled()
        if needs:
            self.context().require(needs)

    def _record_broken(self, broken: Outcome, ask: Ask) -> None:
        """Who interrupts does not wait for a judgement: it is made up for when the run is next opened."""
        try:
            done = record_call(self.record, broken, ask)
        except MachineRefused:  # the disk is full, say: what was done is recorded all the same, and its files later
            broken.report.seen, broken.report.paths = None, frozenset()
            done = record_call(self.record, broken, ask)
        if done is None:
            return
        if broken.code == "cancelled":
            critique = "interrupted before it was judged"
            self.record.record_evaluation(StepEvaluated(step=done.step, verdict="NOT EVALUATED", critique=critique))
        else:
            judge_step(self.record, self.evaluator, done)

    def _has_run_cells(self) -> bool:
        steps = [step.done for step in list(self.record.state.steps.values())]
        return any(done.source and not done.code and not done.cached for done in steps)


@contextmanager
def open_run(
    home: Home,
    equipment: Equipment,
    which: Question | RunId,
    caller: Context | None = None,
    *,
    who: str = "a run in this process",
) -> Generator[Run]:
    """A run from its beginning to its end, or on from where it was: this process is its only runner.

    Left well, it is closed as done; left by an error, as failed; interrupted, as cancelled.
    """
    record = home.create_run(which) if isinstance(which, Question) else home.open_run(which)
    with ExitStack() as stack:
        stack.enter_context(lease(record.folder, who))
        run = Run(home, record, equipment, caller or Context(PERSON, user_id=record.state.opened.by))
        record.require_open()
        stack.callback(run.close_session)
        run.recover()
        try:
            yield run
        except BaseException as error:
            is_cancelled = not isinstance(error, Exception)  # whatever stops us from outside
            with suppress(RunRecordError):  # what went wrong first is what is raised
                _end_if_open(run, "cancelled" if is_cancelled else "failed", _reason(error))
            raise
        _end_if_open(run, "cancelled" if run.session.is_cancelled else "done", "")


@contextmanager
def join_run(
    home: Home, equipment: Equipment, run_id: RunId, caller: Context, *, as_runner: str = ""
) -> Generator[Run]:
    """A run for a few calls: it stays open, and so does its session. Only a runner, by name, may run cells."""
    record = home.open_run(run_id)
    with ExitStack() as stack:
        is_runner = bool(as_runner) and not record.state.closed  # a closed run is read without a trace
        if is_runner:
            stack.enter_context(lease(record.folder, as_runner))
        run = Run(home, record, equipment, caller, is_runner=is_runner)
        stack.callback(run.session.release)
        if is_runner:
            run.recover()
        yield run


def _end_if_open(run: Run, state: EndState, reason: str) -> None:
    if not run.record.state.closed:
        run.end(state, reason)


def _reason(error: BaseException) -> str:
    return ": ".join(filter(None, [type(error).__name__, str(error)]))[:_LONGEST_REASON]


def _broken(tool: str, error: BaseException, report: Report, seconds: float) -> Outcome:
    """A call that did not come back: interrupted, or our own machinery failed. What it reported so far is true."""
    if isinstance(error, TimeoutError):
        refusal = Refusal("timeout", printable(str(error)) or "it was still at work when its time was over")
    elif not isinstance(error, Exception):  # whatever stops us from outside
        refusal = Refusal("cancelled", "interrupted before it ended")
    elif isinstance(error, RunRecordError | SandboxError):
        refusal = Refusal("failed", error.problem[:_LONGEST_REASON])
    else:
        refusal = Refusal("failed", printable(f"{type(error).__name__}: {error}"[:_LONGEST_REASON]))
    return Outcome(tool=tool, ok=False, refusal=refusal, report=report, seconds=seconds)
