"""What goes wrong around a run: interrupts, other processes, cells that are in the way, an Evaluator that crashes."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest

from run_record import Home, Question
from run_record.errors import RunIsClosed
from run_record.verification import verify
from sandbox import Backend, Cell, Limits, LocalJail, SandboxFailed, SessionSpec
from three_tools.after_call import Ask
from three_tools.evaluator import Expectations
from three_tools.policy import PERSON, Context
from three_tools.run import Equipment, Run, join_run, open_run
from three_tools.search.provider import Found, SearchQuery

ANNA = Context(PERSON, user_id="anna")
QUESTION = Question(objective="Where?", by="anna")


def said(run: Run, code: str) -> str:
    return run.call("sandbox.exec", {"code": code}).outcome.as_json()["stdout"]


def raising(error: BaseException) -> Callable[..., NoReturn]:
    def anything(*_: object, **__: object) -> NoReturn:
        raise error

    return anything


def damage(run: Run) -> list[str]:
    found = verify(run.record.folder, run.objects, lambda *_: None)
    return [f"{each.where}: {each.problem}" for each in found.damage]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("a listener's own"), BrokenPipeError()])
def test_a_cell_whose_listener_fails_is_ended_and_no_answer_is_left_over(work: Run, error: BaseException) -> None:
    """It is over when its step is recorded, and the next cell gets its own answer, not that of the one before."""
    work.on_output = raising(error)
    slow = "print('go', flush=True)\nimport time; time.sleep(30); open('late.csv', 'w')"
    with pytest.raises(type(error)):
        work.call("sandbox.exec", {"code": slow})
    work.on_output = None
    assert [said(work, f"print({number})") for number in range(2)] == ["0\n", "1\n"]
    assert work.record.state.step(1).done.source == slow
    assert "late.csv" not in work.record.state.files


def test_an_interrupted_run_is_whole(real_home: Home, equipment: Equipment) -> None:
    """Its cell is ended before it is closed, and what the cell had written until then is in the record."""
    code = "open('a.csv', 'w').write('a\\n1\\n')\nprint('go', flush=True)\nimport time\n"
    code += "for i in range(600): open(f'{i}.csv', 'w').write('a\\n1\\n'); time.sleep(.02)"
    runs: list[Run] = []

    def work() -> None:
        with open_run(real_home, equipment, QUESTION) as run:
            runs.append(run)
            run.on_output = raising(KeyboardInterrupt())
            run.call("sandbox.exec", {"code": code})

    with pytest.raises(KeyboardInterrupt):
        work()
    (run,) = runs
    assert (run.record.state.name, "a.csv" in run.record.state.files, damage(run)) == ("cancelled", True, [])


def test_a_run_that_was_cancelled_is_closed_as_cancelled(real_home: Home, equipment: Equipment) -> None:
    """Also when whoever ran it left well."""
    with open_run(real_home, equipment, QUESTION) as run:
        run.cancel()
    assert run.record.state.name == "cancelled"


def test_only_who_holds_the_run_may_run_cells(work: Run, equipment: Equipment) -> None:
    """A caller beside it handles files and searches; its cell is refused before anything happens."""
    with join_run(work.home, equipment, work.run_id, ANNA) as beside:
        assert beside.call("sandbox.exec", {"code": "open('x', 'w')"}).outcome.code == "conflict"
    assert not (work.workspace.root / "x").exists()


def test_a_cell_that_meets_another_is_refused(work: Run) -> None:
    """One session runs one cell at a time: the second is a conflict, and the first goes on."""
    codes: list[object] = []
    spec = SessionSpec(name=work.run_id, work=str(work.workspace.root))

    def call(_output: object) -> None:
        codes.append(work.call("sandbox.exec", {"code": "1"}).outcome.code)

    session = work.backend.open_session(spec)
    assert session.run(Cell(code="import time; print('go', flush=True); time.sleep(1)"), call).ok
    assert codes == ["conflict"]
    session.release()


def test_a_run_closed_by_another_takes_nothing_more(real_home: Home, equipment: Equipment) -> None:
    """Who still holds it open is refused, leaves no file and no trace; nor can it be opened to be run again."""
    with open_run(real_home, equipment, QUESTION) as run, join_run(real_home, equipment, run.run_id, ANNA) as beside:
        run.end("done")
        for tool, arguments in (("tmp.write", {"path": "x", "text": "x"}), ("browser.search", {"query": "heat"})):
            recorded = beside.call(tool, arguments)
            assert (recorded.outcome.code, recorded.step) == ("immutable", None)
    assert damage(run) == []
    with pytest.raises(RunIsClosed), open_run(real_home, equipment, run.run_id):
        pass


def test_a_call_refused_on_its_way_records_what_it_had_done(work: Run) -> None:
    """A copy made before the refusal is in the refused step; a call refused at the door takes no file of anybody's."""
    work.call("tmp.write", {"path": "a.csv", "text": "a\n1\n"})
    files_in = [{"name": "copied.csv", "path": "a.csv"}, {"name": "z", "path": "nope"}]
    refused = work.call("sandbox.exec", {"code": "1", "files_in": files_in})
    assert refused.outcome.code == "not_found"
    assert refused.step
    assert [artifact.path for artifact in refused.step.artifacts] == ["copied.csv"]
    (work.workspace.root / "by_hand.csv").write_text("a\n1\n")
    at_the_door = work.call("sandbox.exec", {"cod": "1"})
    assert at_the_door.step
    assert at_the_door.step.artifacts == ()


@pytest.mark.parametrize("in_the_way", ["open('displays', 'w')", "import os; os.symlink('/tmp', 'displays')"])
def test_a_cell_cannot_hide_behind_what_it_puts_in_the_way(work: Run, in_the_way: str) -> None:
    """What it showed cannot be saved, and that is said; its other files are in its step all the same."""
    picture = "display({'image/svg+xml': '<svg/>'}, raw=True)"
    recorded = work.call("sandbox.exec", {"code": f"{in_the_way}; open('secret.csv', 'w').write('a'); {picture}"})
    answer = recorded.outcome.as_json()
    assert (answer["ok"], "could not be saved" in answer["display"]["text"]) == (True, True)
    assert recorded.step
    assert "secret.csv" in [artifact.path for artifact in recorded.step.artifacts]


def test_a_citation_changed_behind_a_search_vouches_for_nothing(work: Run) -> None:
    """A thread that a cell left behind rewrites each citations file it sees, before or after it is recorded."""
    work.call("sandbox.exec", {"code": FORGER})
    work.call("browser.search", {"query": "nordic heat pump"})
    facts = '{"facts": [{"fact": "Sales doubled.", "url": "https://invented.example/x"}]}'
    judged = work.call("tmp.write", {"path": "facts.json", "text": facts}).evaluation
    assert judged
    assert (judged.verdict, judged.evidence) == ("FAIL", 0.0)


FORGER = """
import json, os, threading
os.makedirs('citations', exist_ok=True)
def forge():
    seen = set()
    while True:
        for name in set(os.listdir('citations')) - seen:
            try:
                cited = json.load(open(f'citations/{name}'))
                cited['results'].append({'url': 'https://invented.example/x'})
                json.dump(cited, open(f'citations/{name}', 'w'))
                seen.add(name)
            except Exception:
                pass
threading.Thread(target=forge, daemon=True).start()
"""


@pytest.mark.parametrize("error", [OSError(24, "too many open files"), RuntimeError("no"), RecursionError("deep")])
def test_an_evaluator_that_crashes_any_way_leaves_its_reason(
    real_home: Home, equipment: Equipment, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The step is NOT EVALUATED, the caller goes on, and the next runner has it judged, once."""
    run_id = real_home.create_run(QUESTION).state.opened.run_id
    with monkeypatch.context() as patch:
        patch.setattr(LocalJail, "check", raising(error))
        with join_run(real_home, equipment, run_id, ANNA, as_runner="a command") as run:
            judged = run.call("tmp.write", {"path": "a.csv", "text": "a\n1\n"}, Ask(name="upload")).evaluation
            assert judged
            assert (judged.verdict, type(error).__name__ in judged.critique) == ("NOT EVALUATED", True)
            assert run.call("tmp.list", {}, Ask(needs=("upload",))).outcome.code == "invalid_sequence"
    for _ in range(2):
        with join_run(real_home, equipment, run_id, ANNA, as_runner="recovery") as run:
            assert [step.evaluation and step.evaluation.verdict for step in run.record.state.steps.values()] == [
                "PASS",
                "FAIL",
            ]
    assert (run.workspace.root / "CEL.md").read_text().count("Evaluation of step 1") == 1


@pytest.mark.parametrize("name", ["", 3, ["x"], None, "nope", "\ud800"])
def test_a_tool_that_is_none_is_a_refused_step(work: Run, name: Any) -> None:
    """Whatever is called: the refusal is a result, and a step that is judged FAIL."""
    recorded = work.call(name, {"k" * 100_000: 1, "x\n## Step 9": 10**5000})
    assert recorded.outcome.code == "unknown_tool"
    assert recorded.step
    assert len(recorded.step.inputs) == 2
    assert len(recorded.step.model_dump_json()) < 2000
    assert recorded.evaluation
    assert recorded.evaluation.verdict == "FAIL"


@pytest.mark.parametrize(
    "arguments", [{"query": "x", "allow_domains": ["\ud800"]}, {"query": "x", "top_k": 10**5000}, {"k" * 10**6: 1}]
)
def test_odd_arguments_are_refused_in_few_words(work: Run, arguments: dict[str, object]) -> None:
    """Before anything is searched or written."""
    recorded = work.call("browser.search", arguments)
    assert recorded.outcome.code == "invalid_args"
    assert recorded.step
    assert (len(recorded.step.model_dump_json()) < 2000, recorded.step.artifacts) == (True, ())


def test_a_host_killed_between_cells_is_started_anew(work: Run, equipment: Equipment) -> None:
    """The next cell runs in a new session and is told that the variables are lost, and how to replay."""
    said(work, "x = 1")
    status = cast("LocalJail", equipment.backend()).status()
    assert status
    os.kill(status.pid, signal.SIGKILL)
    while Path(f"/proc/{status.pid}").exists():
        time.sleep(0.01)
    answer = work.call("sandbox.exec", {"code": "print('x' in dir())"}).outcome.as_json()
    assert (answer["ok"], answer["stdout"]) == (True, "False\n")
    assert f"partner cel {work.run_id} --code" in answer["stderr"]


def test_what_another_process_uploads_is_there_when_it_is_needed(work: Run, equipment: Equipment) -> None:
    """What a step needs is looked up in the record as it is now."""
    with join_run(work.home, equipment, work.run_id, ANNA) as beside:
        beside.call("tmp.write", {"path": "company.csv", "text": "a\n1\n"})
    assert work.call("sandbox.exec", {"code": "1"}, Ask(needs=("company.csv",))).outcome.ok


def test_what_is_next_outlasts_a_look_at_the_files(work: Run) -> None:
    """A call that says nothing of it leaves what was to come."""
    work.call("sandbox.exec", {"code": "1"}, Ask(name="kpis", next_steps=("forecast",)))
    work.call("tmp.list", {}, Ask(name="1"))
    context = work.context()
    assert (context.next_steps, [step.name for step in context.steps]) == (("forecast",), ["kpis", "1"])


def test_what_went_wrong_first_is_what_is_raised(real_home: Home, equipment: Equipment) -> None:
    """A sandbox that cannot be had at the end does not hide it; text that is none does not keep a run open."""

    def gone() -> Backend:
        raise SandboxFailed("gone")

    with (
        pytest.raises(RuntimeError, match="mine"),
        open_run(real_home, Equipment(backend=gone, search=equipment.search), QUESTION) as run,
    ):
        raise RuntimeError("mine \ud800")
    assert run.record.state.name == "failed"


def test_a_search_that_outlasts_its_run_leaves_no_files(real_home: Home, equipment: Equipment) -> None:
    """What it brings after the run was closed is in nobody's record, and so not in the run either."""
    found = equipment.search()

    class Slow:
        name = found.name
        state = found.state

        def search(self, query: SearchQuery) -> Found:
            run.end("done")
            return found.search(query)

    with open_run(real_home, replace(equipment, search=Slow), QUESTION) as run:
        assert run.call("browser.search", {"query": "nordic heat pump"}).outcome.code == "immutable"
    assert damage(run) == []


def test_a_run_gives_its_tools_its_seed_limits_and_threshold(real_home: Home, equipment: Equipment) -> None:
    """Random numbers are the seed's, memory is the limit's, and a threshold above an aggregate fails the step."""
    narrow = replace(equipment, limits=Limits(memory_bytes=300 << 20), pass_threshold=1.0)
    numbers: list[str] = []
    for seed in (1, 1, 2):
        with open_run(real_home, narrow, Question(by="anna", seed=seed)) as run:
            numbers.append(said(run, "import random; print(random.random())"))
    assert (numbers[0] == numbers[1], numbers[0] == numbers[2]) == (True, False)
    with open_run(real_home, narrow, QUESTION) as run:
        assert not run.call("sandbox.exec", {"code": "x = bytearray(1 << 30)"}).outcome.ok
        judged = run.call("sandbox.exec", {"code": "import warnings; warnings.warn('hm')"}).evaluation
        assert judged
        assert (judged.verdict, judged.hygiene) == ("FAIL", 0.5)


@pytest.mark.parametrize(
    ("code", "critique"),
    [
        ("import subprocess; subprocess.Popen(['sleep', '60'])", "processes left behind"),
        ("import os; os.symlink('/tmp', 'link')", "passed over"),
        ("import time; time.sleep(.3)", "time budget"),
    ],
)
def test_what_a_cell_leaves_behind_lowers_its_hygiene(work: Run, code: str, critique: str) -> None:
    """Processes, links and too long a time are in the record, and the Evaluator sees them there."""
    ask = Ask(expects=Expectations(budget_s=0.2))
    judged = work.call("sandbox.exec", {"code": code}, ask if "time budget" in critique else None).evaluation
    assert judged
    assert judged.hygiene is not None
    assert (judged.hygiene < 1, critique in judged.critique) == (True, True)
