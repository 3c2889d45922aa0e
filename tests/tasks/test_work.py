"""Steps of a run without Prefect around them: recorded once, in order, and with a verdict."""

import os
import signal
import sys
import threading
import traceback
from pathlib import Path

import pytest
from prefect import flow, task

from fakes.prefect_server import wait_until
from partner.launch import PrefectServer
from sandbox import HostIsGone
from tasks.call import Patience, call, call_all
from tasks.errors import NotRecorded, StepFailed
from tasks.hooks import is_worth_retrying
from tasks.step import Step
from tasks.work import Work, at_work, work_of
from three_tools.evaluator import Evaluator


def write(name: str, path: str = "a.txt") -> Step:
    return Step(name=name, tool="tmp.write", arguments={"path": path, "text": name})


def test_a_step_whose_hook_never_ran_is_recorded_by_whoever_asks(work: Work) -> None:
    """Prefect swallows what a hook raises; asking for the verdict records and judges what it did not."""
    step = write("first")
    work.announce([step])
    work.attempt(step, work.look_up(step))
    assert work.run.record.state.steps == {}
    recorded = work.settled(step)
    assert recorded.evaluation
    assert recorded.evaluation.verdict == "PASS"
    assert work.settled(step) is recorded
    assert len(work.run.record.state.steps) == 1


def test_steps_are_recorded_in_their_announced_order(work: Work) -> None:
    """What ended early waits for what was announced before it."""
    first, second, third = (write(name, f"{name}.txt") for name in ("first", "second", "third"))
    work.announce([first, second, third])
    for step in (third, second):
        work.attempt(step, None)
        with pytest.raises(NotRecorded):
            work.settled(step)
    work.attempt(first, None)
    work.settled(third)
    assert [step.done.name for step in work.run.record.state.steps.values()] == ["first", "second", "third"]


def test_a_step_that_nobody_will_end_holds_up_no_other(work: Work) -> None:
    """Its attempt is in the record all the same."""
    first, second = write("first"), write("second", "b.txt")
    work.announce([first, second])
    work.attempt(second, None)
    work.give_up_on(first)
    assert work.settled(second).step


def test_a_failed_attempt_is_recorded_at_once(work: Work) -> None:
    """No hook hears of an attempt that is tried again."""
    step = Step(name="bad", tool="tmp.write", arguments={"path": "../outside", "text": ""})
    work.announce([step])
    with pytest.raises(StepFailed, match="outside") as raised:
        work.attempt(step, None)
    assert raised.value.is_final
    (recorded,) = work.run.record.state.steps.values()
    assert (recorded.done.name, recorded.done.attempt, recorded.done.code) == ("bad", 1, "out_of_scope")
    assert recorded.evaluation
    assert recorded.evaluation.verdict == "FAIL"


def test_a_step_that_could_not_be_judged_is_recorded_once(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for the verdict again has it judged, not written down a second time."""
    step = write("first")
    work.announce([step])
    work.attempt(step, None)
    with monkeypatch.context() as patched:
        patched.setattr(Evaluator, "evaluate", lambda *_: (_ for _ in ()).throw(HostIsGone("it died", "try again")))
        with pytest.raises(HostIsGone):
            work.settled(step)
    assert work.settled(step).evaluation
    assert len(work.run.record.state.steps) == 1


def test_of_steps_at_once_the_one_that_fails_outside_of_our_code_is_raised(
    work: Work,
    prefect_server: PrefectServer,
) -> None:
    """The others are recorded, and its attempt as lost when the run ends."""
    good, bad = write("good"), write("bad", "b.txt")

    @task
    def fails(run_id: str, step: Step, key: None) -> None:
        if step.name == "good":
            work.attempt(step, key)
        else:
            work.run.record.begin_attempt(step.tool, step.name)
            raise RuntimeError("no room")

    @flow
    def two() -> None:
        call_all(work, fails, [(bad, Patience()), (good, Patience())])

    with pytest.raises(RuntimeError, match="no room"):
        two()
    work.run.end("failed")
    steps = [(step.done.name, step.done.ok) for step in work.run.record.state.steps.values()]
    assert steps == [("good", True), ("bad", False), ("bad", False)], "it is tried once more"


def test_who_interrupts_steps_at_once_waits_for_their_end(work: Work, prefect_server: PrefectServer) -> None:
    """None of them changes a file of the run behind its end; those that have not begun are refused."""
    has_ended = threading.Event()

    def is_waited_for() -> bool:
        frame = sys._current_frames()[threading.main_thread().ident or 0]
        return "_wait_for" in {each.f_code.co_name for each, _ in traceback.walk_stack(frame)}

    @task(retry_condition_fn=is_worth_retrying)
    def interrupts(run_id: str, step: Step, key: None) -> None:
        wait_until(is_waited_for, "somebody waits")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        wait_until(lambda: work.run.session.is_cancelled, "the interrupt is noticed")
        has_ended.set()
        work.attempt(step, key)

    @flow
    def one() -> None:
        try:
            call_all(work, interrupts, [(write("late"), Patience())])
        finally:
            assert has_ended.is_set()

    with pytest.raises(KeyboardInterrupt):
        one()
    codes = [step.done.code for step in work.run.record.state.steps.values()]
    assert codes == ["cancelled"]


class Interrupted:
    """A task whose first try is begun, and then whoever submits it is interrupted before they know of it."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self.trying: threading.Thread | None = None

    def with_options(self, **_options: object) -> "Interrupted":
        return self

    def submit(self, _run_id: str, step: Step, key: None) -> None:
        self.trying = threading.Thread(target=self._work.attempt, args=(step, key))
        self.trying.start()
        wait_until(lambda: self._work.run.record.state.begun, "the try begins")
        raise KeyboardInterrupt


def test_who_is_interrupted_while_submitting_waits_for_what_has_begun(work: Work, tmp_path: Path) -> None:
    """A file that is being written is there when the run may be closed."""
    slow = tmp_path / "slow"
    os.mkfifo(slow)

    def write_when_stopped() -> None:
        with open(slow, "w") as file:
            wait_until(lambda: work.run.session.is_cancelled, "the interrupt is noticed")
            file.write("late")

    writing = threading.Thread(target=write_when_stopped)
    writing.start()
    step = Step(name="late", tool="tmp.write", arguments={"path": "late.txt"}, source=slow)
    interrupted = Interrupted(work)
    with pytest.raises(KeyboardInterrupt):
        call_all(work, interrupted, [(step, Patience())])  # pyright: ignore[reportArgumentType]  (as much of a task as is used)
    assert (work.run.workspace.root / "late.txt").read_text() == "late"
    writing.join()
    assert interrupted.trying
    interrupted.trying.join()


@pytest.mark.parametrize(
    ("error", "retries", "tries"),
    [
        (StepFailed("it did not"), 0, 1),
        (StepFailed("it did not"), 2, 3),
        (StepFailed("it may not", is_final=True), 2, 1),
        (HostIsGone("it died", "try again"), 0, 2),
    ],
)
def test_a_step_is_tried_as_often_as_may_help(
    work: Work, prefect_server: PrefectServer, error: Exception, retries: int, tries: int
) -> None:
    """As often as the recipe says; not when the answer would be the same; once more when the sandbox has died."""
    tried: list[str] = []

    @task(retry_condition_fn=is_worth_retrying)
    def fails(run_id: str, step: Step, key: None) -> None:
        tried.append(step.name)
        raise error

    @flow
    def one() -> None:
        call_all(work, fails, [(write("bad"), Patience(retries))])

    with pytest.raises(type(error)):
        one()
    assert len(tried) == tries


def test_a_step_that_fails_outside_of_our_code_holds_up_none_after_it(
    work: Work,
    prefect_server: PrefectServer,
) -> None:
    """What is called next, such as saving the notebook, is recorded."""

    @task
    def does(run_id: str, step: Step, key: None) -> None:
        if step.name == "bad":
            raise RuntimeError("no room")
        work.attempt(step, key)

    @flow
    def two() -> None:
        with pytest.raises(RuntimeError, match="no room"):
            call(work, does, write("bad"))
        call(work, does, write("good", "b.txt"))

    two()
    assert [step.done.name for step in work.run.record.state.steps.values()] == ["good"]


def test_a_task_outside_a_run_is_an_error(work: Work) -> None:
    """Tasks find the work by the run's id while it lasts, and say so when there is none."""
    with at_work(work):
        assert work_of(work.run.run_id) is work
    with pytest.raises(NotRecorded, match=work.run.run_id):
        work_of(work.run.run_id)
