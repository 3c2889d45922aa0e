"""A run at work: opened and closed together, its record read back, its steps judged again after a crash."""

import threading

import pytest

from run_record import Home, Question, RunId, StepEvaluated
from run_record.errors import MachineRefused, RunIsBusy
from sandbox import Backend, LocalJail, SandboxFailed
from three_tools.after_call import Ask
from three_tools.evaluator import Expectations, ExpectedFile
from three_tools.policy import PERSON, AgentDescriptor, Context
from three_tools.run import Equipment, Run, join_run, open_run

ANNA = Context(PERSON, user_id="anna")
QUESTION = Question(objective="Where?", by="anna")


def sessions(jail: LocalJail) -> set[str]:
    status = jail.status()
    return {session.name for session in status.sessions} if status else set()


def test_a_run_left_well_is_done_and_leaves_nothing_behind(
    real_home: Home, equipment: Equipment, jail: LocalJail
) -> None:
    """The record is closed, the session ended, the lease given back; nothing is pending."""
    with open_run(real_home, equipment, QUESTION) as run:
        assert (run.seed, len(run.as_of), run.profile.name) == (0, 10, "primary")
        assert run.clock().isoformat()[:10] == run.as_of
        run.call("sandbox.exec", {"code": "1"})
        assert run.run_id in sessions(jail)
    assert run.record.state.name == "done"
    assert run.run_id not in sessions(jail)
    assert "PENDING" not in (run.workspace.root / "CEL.md").read_text()


@pytest.mark.parametrize(("error", "state"), [(RuntimeError("no"), "failed"), (KeyboardInterrupt(), "cancelled")])
def test_a_run_left_by_an_error_says_so(
    real_home: Home, equipment: Equipment, jail: LocalJail, error: BaseException, state: str
) -> None:
    """Whatever ends it, the record is closed with the reason and the session is gone."""
    runs: list[Run] = []

    def work() -> None:
        with open_run(real_home, equipment, QUESTION) as run:
            runs.append(run)
            run.call("sandbox.exec", {"code": "1"})
            raise error

    with pytest.raises(type(error)):
        work()
    (run,) = runs
    assert run.record.state.name == state
    assert run.run_id not in sessions(jail)


def test_one_runner_at_a_time(real_home: Home, equipment: Equipment, work: Run) -> None:
    """A second runner is refused at once; a caller who only handles files is not."""
    with pytest.raises(RunIsBusy), join_run(real_home, equipment, work.run_id, ANNA, as_runner="another"):
        pass
    with join_run(real_home, equipment, work.run_id, ANNA) as beside:
        assert beside.call("tmp.write", {"path": "up.csv", "text": "a\n1\n"}).outcome.ok


def test_the_record_is_read_back(work: Run) -> None:
    """The context knows where artifacts live, which steps passed, why others did not, and what is next."""
    work.call("tmp.write", {"path": "a.csv", "text": "a\n1\n"}, Ask(name="upload", next_steps=("compute KPIs",)))
    work.call("sandbox.exec", {"code": "1/0"}, Ask(name="kpis"))
    context = work.context()
    assert context.artifacts["a.csv"].file.read_text() == "a\n1\n"
    assert [(step.name, step.has_passed) for step in context.steps] == [("upload", True), ("kpis", False)]
    assert "ZeroDivisionError" in context.incomplete[0].why_not
    work.call("sandbox.exec", {"code": "2"}, Ask(name="kpis", next_steps=("forecast",)))
    assert [step.name for step in work.context().passed] == ["upload", "kpis"]
    assert work.context().next_steps == ("forecast",)


def test_a_step_that_needs_an_incomplete_one_fails_fast(work: Run) -> None:
    """Nothing is run; the refusal names the step that is missing or failed, and is itself recorded."""
    work.call("sandbox.exec", {"code": "1/0"}, Ask(name="kpis"))
    refused = work.call("sandbox.exec", {"code": "open('x', 'w')"}, Ask(name="forecast", needs=("kpis",)))
    assert refused.outcome.code == "invalid_sequence"
    assert refused.outcome.refusal
    assert "step 1 (sandbox.exec) is incomplete: FAIL" in refused.outcome.refusal.problem
    assert not (work.workspace.root / "x").exists()
    assert work.call("tmp.list", {}, Ask(needs=("nothing.csv",))).outcome.code == "invalid_sequence"
    work.call("tmp.write", {"path": "nothing.csv", "text": "a\n1\n"})
    assert work.call("tmp.list", {}, Ask(needs=("nothing.csv",))).outcome.ok


def test_an_evaluator_that_crashed_is_made_up_for(real_home: Home, equipment: Equipment) -> None:
    """A step that could not be judged says why, and is judged when the run is next opened, by what was expected."""

    def broken() -> LocalJail:
        raise SandboxFailed("the host did not start")

    no_sandbox = Equipment(backend=broken, search=equipment.search)
    record = real_home.create_run(QUESTION)
    run_id: RunId = record.state.opened.run_id
    expects = Expectations(files=(ExpectedFile(path="a.csv", min_rows=3),))
    with join_run(real_home, no_sandbox, run_id, ANNA) as run:
        judged = run.call("tmp.write", {"path": "a.csv", "text": "a\n1\n"}, Ask(expects=expects)).evaluation
    assert judged == StepEvaluated(step=1, verdict="NOT EVALUATED", critique="the host did not start")
    with join_run(real_home, equipment, run_id, ANNA, as_runner="recovery") as run:
        evaluation = run.record.state.step(1).evaluation
        assert evaluation
        assert evaluation.verdict == "FAIL"
        assert "Evaluation of step 1" in (run.workspace.root / "CEL.md").read_text()


def test_a_session_outlives_its_callers(real_home: Home, equipment: Equipment) -> None:
    """Variables stay from one caller to the next; when the session was lost, the answer says so and how to replay."""
    run_id = real_home.create_run(QUESTION).state.opened.run_id
    for code in ("x = 41", "x + 1"):
        with join_run(real_home, equipment, run_id, ANNA, as_runner="a command") as run:
            outcome = run.call("sandbox.exec", {"code": code}).outcome
    assert outcome.as_json()["display"] == {"kind": "text", "text": "42"}
    assert outcome.report.notices == []
    equipment.backend().close_session(run_id)
    with join_run(real_home, equipment, run_id, ANNA, as_runner="a command") as run:
        outcome = run.call("sandbox.exec", {"code": "x"}).outcome
        assert f"partner cel {run_id} --code | partner exec {run_id} --file -" in outcome.report.notices[0]
        assert outcome.as_json()["stderr"].startswith("note: the session of this run was lost")
        step = run.record.state.step(3).done
        assert "lost, and its variables with it" in step.did[0]
        # Lost while it is held: the next cell gets a new one and says so.
        equipment.backend().close_session(run_id)
        again = run.call("sandbox.exec", {"code": "1"}).outcome
        assert (again.ok, len(again.report.notices)) == (True, 1)
        run.session.close()


def test_a_closed_run_is_only_read(real_home: Home, equipment: Equipment) -> None:
    """Writes and cells are refused as `immutable`; reading leaves no step."""
    with open_run(real_home, equipment, QUESTION) as run:
        run.call("tmp.write", {"path": "a", "text": "x"})
    with join_run(real_home, equipment, run.run_id, ANNA, as_runner="late") as closed:
        for tool, arguments in (
            ("tmp.write", {"path": "a", "text": ""}),
            ("sandbox.exec", {"code": "1"}),
            ("tmp.delete", {"path": "a"}),
            ("browser.search", {"query": "x"}),
        ):
            recorded = closed.call(tool, arguments)
            assert (recorded.outcome.code, recorded.step) == ("immutable", None)
        assert closed.call("tmp.read", {"path": "a"}).outcome.as_json()["text"] == "x"
    assert list(closed.record.state.steps) == [1]


def test_a_cancelled_run_stops_its_cell_and_refuses_the_rest(work: Run) -> None:
    """Cancelling from another thread interrupts the cell; its step and the refusals after it are recorded."""
    started = threading.Event()
    work.on_output = lambda output: started.set()
    stopper = threading.Thread(target=lambda: (started.wait(60), work.cancel()))
    stopper.start()
    recorded = work.call("sandbox.exec", {"code": "print('go', flush=True)\nwhile True: pass"})
    stopper.join()
    assert (recorded.outcome.ok, recorded.outcome.report.cause) == (False, "interrupted")
    assert work.call("tmp_list", {}).outcome.code == "cancelled"
    assert [step.done.tool for step in work.record.state.steps.values()] == ["sandbox.exec", "tmp.list"]


def test_a_run_cancelled_before_its_cell_has_begun_runs_none(real_home: Home, equipment: Equipment) -> None:
    """Also when the session is only being opened, or the cell is on its way."""
    backend = equipment.backend

    def cancelling() -> Backend:
        run.cancel()
        return backend()

    slow = Equipment(backend=cancelling, search=equipment.search)
    with open_run(real_home, slow, QUESTION) as run:
        assert run.call("sandbox.exec", {"code": "open('x', 'w')"}).outcome.code == "cancelled"
        assert not (run.workspace.root / "x").exists()


def test_who_interrupts_does_not_wait_for_a_judgement(real_home: Home, equipment: Equipment) -> None:
    """The call is recorded at once as cancelled, and judged when the run is next opened."""

    def interrupted() -> Backend:
        raise KeyboardInterrupt

    record = real_home.create_run(QUESTION)
    run_id, broken = record.state.opened.run_id, Equipment(backend=interrupted, search=equipment.search)
    with pytest.raises(KeyboardInterrupt), join_run(real_home, broken, run_id, ANNA, as_runner="a command") as run:
        run.call("sandbox.exec", {"code": "1"})
    step = run.record.state.step(1)
    assert (step.done.code, step.done.did) == ("cancelled", ("not done (cancelled): interrupted before it ended",))
    assert step.evaluation
    assert step.evaluation.verdict == "NOT EVALUATED"
    with join_run(real_home, equipment, run_id, ANNA, as_runner="recovery") as run:
        judged = run.record.state.step(1).evaluation
        assert judged
        assert judged.verdict == "FAIL"


def test_a_step_whose_files_cannot_be_kept_is_recorded_without_them(work: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk is full the caller is told, and the record says what was done; the next step finds the files."""

    def full(*_: object) -> None:
        raise MachineRefused("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(type(work.objects), "put", full)
        with pytest.raises(MachineRefused):
            work.call("sandbox.exec", {"code": "x = 1; open('a.csv', 'w').write('a\\n1\\n')"})
    done = work.record.state.step(1).done
    assert (done.ok, done.artifacts, done.did[-1]) == (False, (), "broken off (failed): no space left")
    assert done.did[0].startswith("ran 1 line of Python")
    after = work.call("sandbox.exec", {"code": "x"})
    assert after.step
    assert [artifact.path for artifact in after.step.artifacts] == ["a.csv"]


def test_a_refused_call_is_recorded_with_what_it_asked_for(work: Run) -> None:
    """In short: long text is cut, and what is no plain value is named by its type."""
    work.call("browser.search", {"query": "x" * 3000, "top_k": "five", "allow_domains": ["a"], 3: None})
    inputs = work.record.state.step(1).done.inputs
    assert inputs == {"query": f"{'x' * 80}… (3,000 characters)", "top_k": "five", "allow_domains": "(list)", "3": None}


def test_our_own_failure_is_recorded_then_raised(real_home: Home, equipment: Equipment) -> None:
    """A sandbox that breaks stops the caller, and the record says what broke."""

    def broken() -> LocalJail:
        raise SandboxFailed("the host did not start", "see its log")

    with (
        pytest.raises(SandboxFailed),
        open_run(real_home, Equipment(backend=broken, search=equipment.search), QUESTION) as run,
    ):
        run.call("sandbox.exec", {"code": "1"})
    step = run.record.state.step(1)
    assert (step.done.ok, step.done.code, run.record.state.name) == (False, "failed", "failed")
    assert (step.done.source, step.done.inputs) == ("1", {"code": "1"})  # what was asked is in the record all the same


def test_a_narrow_caller_stays_narrow(real_home: Home, equipment: Equipment, work: Run) -> None:
    """The evaluator's profile reads and lists; what it tries besides is refused and recorded."""
    work.call("tmp.write", {"path": "a", "text": "x"})
    with join_run(real_home, equipment, work.run_id, Context(AgentDescriptor(kind="evaluator"))) as judge:
        assert judge.call("tmp_read", {"path": "a"}).outcome.ok
        for name in ("tmp.write", "tmp_write", "sandbox_exec"):
            assert judge.call(name, {}).outcome.code == "tool_not_allowed"
    assert work.record.look()
    assert len(work.record.state.steps) == 5
