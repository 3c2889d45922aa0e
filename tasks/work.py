"""A run of a recipe at work: its steps' attempts, what is kept of them, and their verdicts, each exactly once."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from prefect.states import State
from pydantic import JsonValue

from run_record import Artifact, RunId, RunRecordError, Sha256
from run_record.changes import changes
from tasks.errors import KeptIsDamaged, NotRecorded, StepFailed
from tasks.kept_step import KeptStep, unsealed
from tasks.kernel import Kernel
from tasks.read_set import Files, observed
from tasks.step import Step
from tasks.step_cache import StepCache
from three_tools.after_call import Ask, Recorded
from three_tools.contracts import FileOut, SandboxExecResult
from three_tools.outcome import Outcome
from three_tools.run import Run
from three_tools.tmp_files import StreamedWrite
from three_tools.tool import Report
from three_tools.words import count, seconds

OnStep = Callable[[Step, Recorded], None]
_FINAL = {"invalid_args", "tool_not_allowed", "unknown_tool", "out_of_scope", "immutable", "cancelled"}
"""Refusals that asking again would only bring again."""
NO_KEY = Sha256("0" * 64)
_at_work: dict[str, "Work"] = {}


class Work:
    """Does the steps of one run for the tasks and their hooks.

    A failed attempt is recorded by the task itself, because no hook hears of one that is tried again; a step that
    ended is recorded by the hook. Steps that run at once are recorded in the order they were announced in.
    """

    def __init__(self, run: Run, cache: StepCache, kernel: Kernel, on_step: OnStep | None = None) -> None:
        self.run = run
        self.cache = cache
        self._kernel = kernel
        self._on_step = on_step
        self._lock = threading.RLock()
        self._order: deque[str] = deque()
        self._steps: dict[str, Step] = {}
        self.keys: dict[str, Sha256 | None] = {}
        """The key of each step that was looked up."""
        self._endings: dict[str, Callable[[], Recorded]] = {}
        self._failed: dict[str, Recorded] = {}
        self._recorded: dict[str, Recorded] = {}
        self.outputs: dict[str, tuple[dict[str, JsonValue], ...]] = {}
        """What each cell showed, for the executed notebook."""

    def files(self) -> Files:
        """The run's files as the record has them."""
        self.run.record.catch_up()
        return {path: file.artifact.sha256 for path, file in self.run.record.state.files.copy().items()}

    def announce(self, steps: Sequence[Step]) -> None:
        """These come next, and are recorded in this order."""
        with self._lock:
            self._order.extend(step.name for step in steps)
            self._steps.update((step.name, step) for step in steps)

    def look_up(self, step: Step) -> Sha256 | None:
        """The key of a step in the run as it is now."""
        self.keys[step.name] = key = self.cache.key(step, self.files())
        return key

    def attempt(self, step: Step, key: Sha256 | None) -> KeptStep:
        """Try a step once; from its beginning to its end it is in the record, however it ends."""
        run, before = self.run, self.files()
        ask = step.ask(run.record.begin_attempt(step.tool, step.name))
        report, began = Report(), time.perf_counter()
        try:
            outcome = self._execute(step, ask, report)
            if ask.attempt > 1:
                outcome.report.inputs["attempt"] = ask.attempt
            kept = self._kept(step, key, outcome, before) if outcome.ok else None
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):  # Prefect's time limit stops what runs in the main thread
                error = TimeoutError("it took longer than its task may")
            self._record_broken(step, ask, report, began, error)
            raise
        if kept is None:
            self._give_up(step, outcome, ask)
        self._endings[step.name] = lambda: self._record(step, outcome, ask, kept)
        return kept

    def end(self, name: str, state: State[Any]) -> None:
        """A task has come to its end: called by the hooks."""
        if state.name == "Cached":
            stored: Any = state.result(raise_on_failure=False)
            self._endings[name] = lambda: self._take_over(self._steps[name], stored)
        elif state.is_failed() and name in self._failed:
            self._endings[name] = lambda: self._failed[name]
        self._record_what_has_ended()

    def settled(self, step: Step) -> Recorded:
        """The step with its verdict. What a hook could not do is done here, where it may fail."""
        self._record_what_has_ended()
        recorded = self._recorded.get(step.name)
        if recorded is None or recorded.evaluation is None:
            raise NotRecorded(f"step '{step.name}' has ended and has no verdict", "see the log of this flow run")
        return recorded

    def give_up_on(self, step: Step) -> None:
        """Nobody will end this step any more: those after it need not wait for it."""
        with self._lock:
            if step.name in self._order:
                self._order.remove(step.name)
            self._endings.pop(step.name, None)

    def _execute(self, step: Step, ask: Ask, report: Report) -> Outcome:
        def execute() -> Outcome:
            return self.run.execute(step.tool, step.arguments, ask, report)

        if step.source is not None:
            with open(step.source, "rb") as stream:
                arguments = StreamedWrite(path=str(step.arguments["path"]), stream=stream)
                return self.run.execute(step.tool, arguments, ask, report)
        return self._kernel.run(step.name, execute) if step.tool == "sandbox.exec" else execute()

    def _record_broken(self, step: Step, ask: Ask, report: Report, began: float, error: BaseException) -> None:
        self.run.record_broken(step.tool, error, ask, report, time.perf_counter() - began)
        self._kernel.distrust()

    def _give_up(self, step: Step, outcome: Outcome, ask: Ask) -> None:
        recorded = self.run.record_outcome(outcome, ask)
        self.outputs[step.name] = outcome.report.outputs
        if step.tool == "sandbox.exec":
            self._kernel.distrust()
        self._failed[step.name] = recorded
        if self._on_step:
            self._on_step(step, recorded)
        why = outcome.refusal.problem if outcome.refusal else outcome.report.detail
        remedy = outcome.refusal.remedy if outcome.refusal else ""
        raise StepFailed(f"step '{step.name}' failed: {why}", remedy, is_final=outcome.code in _FINAL)

    def _record_what_has_ended(self) -> None:
        """In the announced order: a step that ended early waits for those before it."""
        with self._lock:
            while self._order and (ending := self._endings.get(self._order[0])):
                name = self._order[0]
                recorded = ending()
                self._recorded[name] = recorded
                self._order.popleft()
                del self._endings[name]
                if self._on_step and recorded.outcome.ok:
                    self._on_step(self._steps[name], recorded)

    def _record(self, step: Step, outcome: Outcome, ask: Ask, kept: KeptStep) -> Recorded:
        recorded = self.run.record_outcome(outcome, ask)
        self.outputs[step.name] = kept.outputs
        if recorded.evaluation and recorded.evaluation.verdict == "PASS":
            self.cache.learn(step, kept)
        elif step.basis is not None:
            self.cache.forget(step, kept.key)
        return recorded

    def _kept(self, step: Step, key: Sha256 | None, outcome: Outcome, before: Files) -> KeptStep:
        report, record = outcome.report, self.run.record
        seen = report.seen = report.seen or record.look(report.paths or ())
        found = changes(seen, record.state)
        result = outcome.result
        own = _as_artifacts(result.files_out) if isinstance(result, SandboxExecResult) else None
        deleted = set(report.touched.deleted) if report.touched else set[str]()
        kept = KeptStep(
            key=key or NO_KEY,
            run_id=self.run.run_id,
            tool=outcome.tool,
            name=step.name,
            seconds=outcome.seconds,
            result=outcome.as_json(),
            artifacts=found.artifacts if own is None else own,
            removed=tuple(path for path in found.removed if path in deleted),
            outputs=report.outputs,
            stderr=report.stderr,
            results=report.results,
            citations=report.citations,
            reads=observed(report.touched, report.source, before) if report.touched else None,
        )
        return kept.sealed()

    def _take_over(self, step: Step, stored: Any) -> Recorded:  # Any: what Prefect read from the cache
        """Have what an earlier run did: its files back in place first, then the step recorded and judged."""
        began = time.perf_counter()
        key = self.keys[step.name] or NO_KEY
        kept = unsealed(stored, key)
        try:
            seen = self.run.record.restore(kept.artifacts, kept.removed)
        except RunRecordError as error:
            raise KeptIsDamaged(f"of what the cache keeps under {key[:12]}, {error.problem}") from error
        tool = next(each for each in self.run.registry.list_tools() if each.name == step.tool)
        report = Report(
            did=[f"took over what run {kept.run_id} did in {seconds(kept.seconds)}: {_files(kept.artifacts)}"],
            inputs={"kept": key[:12]},
            has_begun=True,
            source=str(step.arguments.get("code", "")),
            stderr=kept.stderr,
            results=kept.results,
            citations=kept.citations,
            paths=frozenset((*kept.own, *kept.removed)),
            seen=seen,
        )
        outcome = Outcome(
            tool=step.tool,
            ok=True,
            result=tool.result.model_validate(kept.result),
            report=report,
            seconds=time.perf_counter() - began,
        )
        self.outputs[step.name] = kept.outputs
        return self.run.record_outcome(outcome, step.ask(cached=True))

    def drop_kept(self, step: Step, error: KeptIsDamaged) -> None:
        """What was kept cannot be had: nobody is to find it again, and the step is to be run."""
        self._endings.pop(step.name, None)
        if key := self.keys[step.name]:
            self.cache.drop(step, key, error)


def _as_artifacts(files: Sequence[FileOut]) -> tuple[Artifact, ...]:
    return tuple(Artifact(path=file.path, size=file.size, sha256=Sha256(file.sha256)) for file in files)


def _files(artifacts: Sequence[Artifact]) -> str:
    return count(len(artifacts), "file")


@contextmanager
def at_work(work: Work) -> Generator[Work]:
    """While this lasts, tasks find the work by the run's id."""
    run_id = work.run.run_id
    _at_work[run_id] = work
    try:
        yield work
    finally:
        del _at_work[run_id]


def work_of(run_id: RunId | str) -> Work:
    try:
        return _at_work[run_id]
    except KeyError:
        raise NotRecorded(
            f"run {run_id} is not at work in this process", "call this task from a recipe's flow"
        ) from None
