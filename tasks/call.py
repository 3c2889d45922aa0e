"""Calling a task for a step: under its key, with the recipe's retries, and with a verdict at the end."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, cast

from prefect import Task
from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture

from run_record import Sha256
from tasks.cache_policy import cache_policy
from tasks.errors import KeptIsDamaged, StepFailed
from tasks.lock_manager import FlockLockManager
from tasks.step import Step
from tasks.work import Work
from three_tools.after_call import Recorded

StepTask = Task[..., Any]  # Any: a task's parameters, which are the same for each of ours


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a step may take, and how often it is tried."""

    retries: int = 0
    retry_delay_s: float = 0.0
    timeout_s: float | None = None
    """Prefect's limit, behind the tool's own: it ends a task whose tool does not end itself."""


def call(work: Work, task: StepTask, step: Step, patience: Patience | None = None) -> Recorded:
    """Do a step, here and now; StepFailed when it did not do what was asked."""
    locks = FlockLockManager(work.cache.locks)
    ready = _ready(work, task, patience or Patience(), locks)
    with _looked_up(work, step, locks) as key:
        work.announce([step])
        try:
            ready(work.run.run_id, step, key)
            return _settled(work, ready, step)
        except StepFailed:
            work.settled(step)
            raise
        except BaseException:
            work.give_up_on(step)
            raise


def call_all(work: Work, task: StepTask, asked: Sequence[tuple[Step, Patience]]) -> list[Recorded]:
    """Do steps at once; all are waited for, then the first failure is raised."""
    steps = [step for step, _ in asked]
    work.announce(steps)
    locks = FlockLockManager(work.cache.locks)
    ready = {step.name: _ready(work, task, patience, locks) for step, patience in asked}
    states = _states(work, ready, steps)
    failures = [(step, state) for step, state in zip(steps, states, strict=True) if not state.is_completed()]
    lost = [step for step, _ in failures if not work.has_ended(step)]
    for step in lost:  # they failed outside of our code: there is nothing to say of them
        work.give_up_on(step)
    settled = [_settled(work, ready[step.name], step) for step in steps if step not in lost]
    for _, state in failures:
        state.result()  # raises
    return settled


def _states(work: Work, ready: Mapping[str, StepTask], steps: Sequence[Step]) -> list[State[Any]]:
    """How they ended. Who interrupts waits as well, also for one that was being submitted."""
    futures: list[PrefectFuture[Any]] = []
    try:
        for step in steps:
            submit = cast("Any", ready[step.name]).submit  # Any: Prefect's overloads are not fully typed
            futures.append(submit(work.run.run_id, step, work.look_up(step)))
        _wait_for(futures)
    except BaseException:
        work.stop()
        _wait_for(futures)
        raise
    return [future.state for future in futures]


def _wait_for(futures: Sequence[PrefectFuture[Any]]) -> None:
    for future in futures:
        future.wait()


@contextmanager
def _looked_up(work: Work, step: Step, locks: FlockLockManager) -> Generator[Sha256 | None]:
    """The step's key, for this run alone until the step is recorded.

    Waiting for another run takes nothing of the step's own time, and ends when this run is cancelled.
    """
    key = work.look_up(step)
    if key is None:
        yield None
        return
    with ExitStack() as stack:
        while stack.enter_context(locks.reserved(key, lambda: work.run.session.is_cancelled)):
            now = work.look_up(step)  # by what the other run has left
            if now == key:
                break
            stack.close()
            key = now or key
        yield key


def _ready(work: Work, task: StepTask, patience: Patience, locks: FlockLockManager) -> StepTask:
    return task.with_options(
        cache_policy=cache_policy(locks),
        result_storage=work.cache.results,
        retries=patience.retries + 1,  # one more for a sandbox that died: hooks.is_worth_retrying
        retry_delay_seconds=patience.retry_delay_s,
        timeout_seconds=patience.timeout_s,
    )


def _settled(work: Work, ready: StepTask, step: Step) -> Recorded:
    """The step with its verdict; where the bytes behind a kept result are gone, it is run instead."""
    try:
        return work.settled(step)
    except KeptIsDamaged as error:
        work.drop_kept(step, error)
    ready.with_options(refresh_cache=True)(work.run.run_id, step, work.look_up(step))
    return work.settled(step)
