"""What keeps the Evaluator from judging, and what cannot sway it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from run_record import Artifact, Sha256
from sandbox import Backend, CellResult, Limits, NoSafeSandbox
from three_tools.evaluator import Evaluator, Expectations, ExpectedFile, JudgedStep, Range
from three_tools.evaluator.request import MOST_FILE_BYTES

STEP = JudgedStep(tool="sandbox.exec", ok=True)


class Swapped:
    """A backend whose checks run other code than they were given."""

    def __init__(self, backend: Backend, code: str) -> None:
        self._backend = backend
        self._code = code

    open_session: Any = None
    session_names: Any = None
    digest = ""

    def close_session(self, name: str) -> bool:
        raise NotImplementedError

    def check(self, code: str, files: Mapping[str, Path], limits: Limits, seed: int = 0) -> CellResult:
        return self._backend.check(self._code, files, limits, seed)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os._exit(3)", "exit code 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("raise ValueError('broken')", "ValueError: broken"),
        ("while True: pass", "did not end well"),
        ("print('PASS')", "nothing that can be read"),
        ("", "nothing that can be read"),
        ('print(\'step_checks.findings:[{"dimension": "luck"}]\')', "nothing that can be read"),
        ("print('step_checks.findings:' + '[' * 9999)", "nothing that can be read"),
    ],
)
def test_a_check_that_breaks_is_no_verdict(court: Any, code: str, reason: str) -> None:
    """A check that crashes, takes too long or talks nonsense leaves NOT EVALUATED, with the reason."""
    evaluator = Evaluator(Swapped(court.place.backend, code), court.objects, limits=Limits(timeout_s=1))
    judged = evaluator.evaluate(STEP, 7)
    assert (judged.step, judged.verdict, judged.aggregate) == (7, "NOT EVALUATED", None)
    assert reason in judged.critique


def test_a_score_beyond_1_is_no_verdict(court: Any) -> None:
    """Findings whose scores are none are not added up."""
    finding = {"dimension": "evidence", "about": "a", "check": "b", "score": 2}
    code = f"import json; print('step_checks.findings:' + json.dumps([{finding}]))"
    assert Evaluator(Swapped(court.place.backend, code), court.objects).evaluate(STEP, 1).verdict == "NOT EVALUATED"


def test_a_missing_object_is_no_verdict(court: Any) -> None:
    """A file whose bytes are not in the store cannot be judged."""
    gone = Artifact(path="a.csv", size=3, sha256=Sha256("0" * 64))
    judged = court.judge(JudgedStep(tool="sandbox.exec", ok=True, artifacts=(gone,), files={"a.csv": gone}))
    assert judged.verdict == "NOT EVALUATED"
    assert "0" * 64 in judged.critique


def test_a_damaged_object_is_no_verdict(court: Any) -> None:
    """Bytes that no longer have their hash are not what the step made."""
    step = court.step({"a.txt": b"as it was"})
    path = court.objects.path(step.artifacts[0].sha256)
    path.chmod(0o644)
    path.write_bytes(b"as it is!")
    judged = court.judge(step)
    assert judged.verdict == "NOT EVALUATED"
    assert "damaged" in judged.critique


def test_without_a_safe_sandbox_nothing_is_judged(court: Any) -> None:
    """Where no safe sandbox is to be had, the verdict says so; the backend is asked for only then."""

    def refuse() -> Backend:
        raise NoSafeSandbox("this kernel has no Landlock", "use Docker")

    judged = Evaluator(refuse, court.objects).evaluate(STEP, 1)
    assert (judged.verdict, judged.critique) == ("NOT EVALUATED", "this kernel has no Landlock")


def test_a_backend_may_be_made_when_it_is_needed(court: Any) -> None:
    """A function that gives the backend does as well as the backend."""
    assert Evaluator(lambda: court.place.backend, court.objects).evaluate(STEP, 1).verdict == "PASS"


def test_a_file_too_large_is_named_and_not_opened(court: Any) -> None:
    """A file above the limit is not sent into the sandbox; the critique says that nobody looked."""
    large = Artifact(path="large.parquet", size=MOST_FILE_BYTES + 1, sha256=Sha256("0" * 64))
    judged = court.judge(JudgedStep(tool="sandbox.exec", ok=True, artifacts=(large,), files={large.path: large}))
    assert (judged.verdict, judged.correctness) == ("PASS", 1.0)
    assert "large.parquet not opened: too large" in judged.critique


def test_what_was_declared_of_a_file_too_large_has_not_passed(court: Any) -> None:
    """A required check that could not be made fails the step, and the critique says why it could not."""
    large = Artifact(path="large.parquet", size=MOST_FILE_BYTES + 1, sha256=Sha256("0" * 64))
    expects = Expectations(files=(ExpectedFile(path="large.parquet", min_rows=1),))
    judged = court.judge(
        JudgedStep(tool="sandbox.exec", ok=True, artifacts=(large,), files={large.path: large}, expects=expects)
    )
    assert (judged.verdict, judged.correctness) == ("FAIL", 0.0)
    assert "large.parquet: opens: not opened: too large" in judged.critique


def test_a_cell_cannot_sway_its_judge(court: Any) -> None:
    """What a session does to builtins, json and pandas stays in it: the truncated file it leaves still fails."""
    with court.place.session() as desk:
        desk.run(
            "import builtins, json, sys, pandas, pyarrow.parquet\n"
            "json.dumps = lambda *a, **k: '[]'\n"
            "pyarrow.parquet.ParquetFile = pandas.read_parquet = lambda *a, **k: None\n"
            "open('step_checks.py', 'w').write('def main(text): print(\"step_checks.findings:[]\")')\n"
            "open('kpis.parquet', 'wb').write(b'PAR1 no more')\n"
            "builtins.open = builtins.print = None\n"
        )
        files = {path.name: path.read_bytes() for path in desk.work.iterdir()}
    assert set(files) == {"step_checks.py", "kpis.parquet"}
    judged = court.judge(court.step(files))
    assert (judged.verdict, judged.correctness) == ("FAIL", 0.5)
    assert "kpis.parquet: opens" in judged.critique


def test_an_earlier_file_is_checked_when_it_is_expected(court: Any) -> None:
    """An expected file that the step did not change is opened all the same."""
    earlier = court.artifact("old.json", b"{")
    expects = Expectations(files=(ExpectedFile(path="old.json"),))
    judged = court.judge(JudgedStep(tool="sandbox.exec", ok=True, files={"old.json": earlier}, expects=expects))
    assert (judged.verdict, judged.completeness, judged.correctness) == ("FAIL", 1.0, 0.0)


def test_a_pass_says_what_was_seen(court: Any) -> None:
    """The critique of a step that passed counts its files and gives their sizes."""
    expects = Expectations(files=(ExpectedFile(path="*.parquet"), ExpectedFile(path="chart.png")))
    judged = court.judge(
        court.step({name: court.made[name] for name in ("kpis.parquet", "chart.png")}, expects=expects)
    )
    assert judged.verdict == "PASS"
    assert judged.critique.startswith("2 of 2 files; chart.png ")
    assert "kpis.parquet 36 rows × 5 columns" in judged.critique


def test_a_bound_is_a_number() -> None:
    """NaN and infinity bound nothing, so a range refuses them when it is declared."""
    for bound in ("nan", "inf"):
        with pytest.raises(ValidationError, match="finite"):
            Range(most=float(bound))
