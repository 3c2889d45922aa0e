"""A run of a recipe at work: its steps in their order, each ending with a verdict, exactly once."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from prefect.client.schemas.objects import State
from pydantic import JsonValue

from run_record import RunId, Sha256, StepDone
from tasks.attempt import Attempt, files_of, try_once
from tasks.errors import KeptIsDamaged, NotRecorded, StepFailed
from tasks.kept_step import KeptStep
from tasks.kernel import Kernel
from tasks.read_set import Files
from tasks.step import Step, digest
from tasks.step_cache import StepCache
from tasks.taking_over import take_over
from three_tools.after_call import Ask, Recorded
from three_tools.outcome import Outcome
from three_tools.run import Run
from three_tools.words import names

OnStep = Callable[[Step, Recorded], None]
_log = logging.getLogger(__name__)
_FINAL = {"invalid_args", "tool_not_allowed", "unknown_tool", "out_of_scope", "immutable", "cancelled"}
"""Refusals that asking again would only bring again."""

_REMEDIES = {
    "timeout": "raise its timeout_s in recipe.toml, or make its work smaller",
    "oom": "have it work on less at a time; or raise PARTNER_CELL_MEMORY_MB",
    "limit": "`partner config` shows the limits",
}
"""By what stopped a cell."""


class Work:
    """Does the steps of one run for the tasks and their hooks.

    A failed attempt is recorded by the task itself, because no hook hears of one that is tried again; a step that
    ended is recorded by the hook. Steps that run at once are recorded in the order they were announced in.
    """

    def __init__(self, run: Run, cache: StepCache, kernel: Kernel, on_step: OnStep) -> None:
        self.run = run
        self.cache = cache
        self.variables: dict[str, Sha256] = {}
        """What stands for the variables that each cell left: its key, and the run that made them."""
        self.outputs: dict[str, tuple[dict[str, JsonValue], ...]] = {}
        """What each cell showed, for the executed notebook."""
        self._kernel = kernel
        self._on_step = on_step
        self._keys: dict[str, Sha256] = {}
        self._found: dict[str, Files] = {}
        """The files that each step was looked up with."""
        self._lock = threading.RLock()
        self._tries = 0
        self._tries_changed = threading.Condition()
        self._order: deque[str] = deque()
        self._steps: dict[str, Step] = {}
        self._failed: dict[str, Recorded] = {}
        self._done: dict[tuple[str, int], StepDone | None] = {}
        """What stands in the record: a step that could not be judged is not recorded a second time."""
        self._endings: dict[str, Callable[[], Recorded]] = {}
        self._recorded: dict[str, Recorded] = {}

    def announce(self, steps: Sequence[Step]) -> None:
        """These come next, and are recorded in this order."""
        with self._lock:
            self._order.extend(step.name for step in steps)
            self._steps.update((step.name, step) for step in steps)

    def look_up(self, step: Step) -> Sha256 | None:
        """The key of a step in the run as it is now."""
        if step.basis is None:
            return None
        self._found[step.name] = files = files_of(self.run)
        self._kernel.saw_before(step.name, files)
        self._keys[step.name] = key = self.cache.key(step, step.basis, files)
        return key

    def attempt(self, step: Step, key: Sha256 | None) -> KeptStep:
        """Try a step once."""
        with self._counted():
            tried = try_once(self.run, self._kernel, step, key)
            if tried.kept is None:
                raise self._failure(step, tried)
            self._endings[step.name] = lambda: self._record(step, tried)
            return tried.kept

    def stop(self) -> None:
        """Let no try begin any more, and wait for those that have: nothing may change a run's files behind its end."""
        self.run.cancel()
        with self._tries_changed:
            self._tries_changed.wait_for(lambda: not self._tries)

    def end(self, step: Step, state: State[Any]) -> None:
        """A task has come to its end: called by the hooks."""
        if state.name == "Cached":
            stored: object = state.result(raise_on_failure=False)
            self._endings[step.name] = lambda: self._take_over(step, stored)
        elif state.is_failed() and step.name in self._failed:
            self._endings[step.name] = lambda: self._failed[step.name]
        self._record_what_has_ended()

    def settled(self, step: Step) -> Recorded:
        """The step with its verdict. What a hook could not do is done here, where it may fail."""
        self._record_what_has_ended()
        recorded = self._recorded.get(step.name)
        if recorded is None or recorded.evaluation is None:
            raise NotRecorded(f"step '{step.name}' has ended and has no verdict", "see the log of this flow run")
        return recorded

    def has_ended(self, step: Step) -> bool:
        """Whether there is anything to say of it."""
        return step.name in self._endings or step.name in self._recorded

    def give_up_on(self, step: Step) -> None:
        """Nobody will end this step any more: those after it need not wait for it."""
        with self._lock:
            if step.name in self._order:
                self._order.remove(step.name)
            self._endings.pop(step.name, None)

    def drop_kept(self, step: Step, error: KeptIsDamaged) -> None:
        """What was kept cannot be had: nobody is to find it again, and the step is to be run."""
        self._endings.pop(step.name, None)
        self.cache.drop(step, self._keys[step.name], error)

    def forget(self, step: Step) -> None:
        """No later run is to find what this step brought."""
        if key := self._keys.get(step.name):
            self.cache.forget(step, key)

    @contextmanager
    def _counted(self) -> Generator[None]:
        with self._tries_changed:
            self._tries += 1
        try:
            yield
        finally:
            with self._tries_changed:
                self._tries -= 1
                self._tries_changed.notify_all()

    def _failure(self, step: Step, tried: Attempt) -> StepFailed:
        outcome = tried.outcome
        recorded = self._failed[step.name] = self._record_and_judge(outcome, tried.ask)
        self.outputs[step.name] = outcome.report.outputs
        if step.tool == "sandbox.exec":
            self._kernel.distrust()
        self._tell(step, recorded)
        refusal = outcome.refusal
        why = refusal.problem if refusal else outcome.report.detail
        remedy = refusal.remedy if refusal else _REMEDIES.get(outcome.report.cause) or self._doubt_what_was_run_again()
        return StepFailed(f"step '{step.name}' failed: {why}", remedy, is_final=outcome.code in _FINAL)

    def _doubt_what_was_run_again(self) -> str:
        """Variables that were made again may not be those that went with the files: a file's name may hold the time.

        The cells that made them are kept no more, so that the next run has both from one hand.
        """
        again = self._kernel.again
        for name in again:
            self.forget(self._steps[name])
        them = f"{names(again)} {'was' if len(again) == 1 else 'were'}"
        return f"{them} run again for its variables before it; the next run does that anew" if again else ""

    def _doubt_what_came_out_unlike(self) -> None:
        """The variables that were made again may not go with the files from before: the next run makes both anew."""
        for name in self._kernel.unlike:
            self.forget(self._steps[name])
            self.cache.note(
                f"'{name}' was run again for its variables, and made other files than before: what it does depends on "
                "more than its inputs (the time, say). The next run does it anew"
            )

    def _record_what_has_ended(self) -> None:
        """In the announced order: a step that ended early waits for those before it."""
        with self._lock:
            while self._order and (ending := self._endings.get(self._order[0])):
                name = self._order[0]
                recorded = self._recorded[name] = ending()
                self._order.popleft()
                del self._endings[name]
                if recorded.outcome.ok:
                    self._tell(self._steps[name], recorded)

    def _record(self, step: Step, tried: Attempt) -> Recorded:
        """Kept for nobody: what the Evaluator does not pass, what a cell made of who knows what, and what a later try
        made of what an earlier one left."""
        recorded = self._record_and_judge(tried.outcome, tried.ask)
        self._doubt_what_came_out_unlike()
        if (kept := tried.kept) is not None:
            self._has_made(step, kept)
            if kept.reads is not None and kept.reads.holds(self._found.get(step.name, {})) and _has_passed(recorded):
                self.cache.learn(step, kept)
            else:
                self.cache.forget(step, kept.key)
        return recorded

    def _has_made(self, step: Step, kept: KeptStep) -> None:
        self.outputs[step.name] = kept.outputs
        self.variables[step.name] = digest({"key": kept.key, "run": kept.run_id})

    def _record_and_judge(self, outcome: Outcome, ask: Ask) -> Recorded:
        which = ask.name, ask.attempt
        if which not in self._done:
            self._done[which] = self.run.record_call(outcome, ask)
        return self.run.judge(outcome, self._done[which])

    def _tell(self, step: Step, recorded: Recorded) -> None:
        try:
            self._on_step(step, recorded)
        except Exception:  # whoever follows a run and cannot any more does not end it
            _log.exception("nobody could be told of step '%s'", step.name)

    def _take_over(self, step: Step, stored: object) -> Recorded:
        key = self._keys[step.name]
        kept, outcome = take_over(self.run, step, key, stored)
        recorded = self._record_and_judge(outcome, step.ask(cached=True))
        self._has_made(step, kept)
        if not _has_passed(recorded):
            self.cache.forget(step, key)
        return recorded


def _has_passed(recorded: Recorded) -> bool:
    return recorded.evaluation is not None and recorded.evaluation.verdict == "PASS"


_at_work: dict[str, Work] = {}


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
