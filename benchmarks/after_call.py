"""What follows a call (objects, journal, CEL.md, evaluation), beside the disk and sandbox work it cannot do without."""

import os
import shutil
import tempfile
import time
from pathlib import Path

from benchmarks.figure import Figure, medians, report
from run_record import Call, Home, Question, RunId, StepEvaluated
from sandbox import LocalJail, SessionSpec
from three_tools.policy import PERSON, Context
from three_tools.run import Equipment, Run, join_run
from three_tools.search.provider import SearchProvider

_ROUNDS = 15
_LATE = 5000


def main() -> None:
    top = Path(tempfile.mkdtemp(prefix="partner-bench-"))
    top.chmod(0o755)
    home, jail = Home(top / "home"), LocalJail(top / "home")
    try:
        jail.start()
        equipment = Equipment(backend=lambda: jail, search=_no_search)
        early, late = (_run_of(home, steps) for steps in (10, _LATE))
        with (
            join_run(home, equipment, early, Context(PERSON)) as first,
            join_run(home, equipment, late, Context(PERSON)) as last,
        ):
            measures = [lambda: _after_call(first), lambda: _after_call(last), lambda: _floor(top, jail)]
            at_10, at_5000, floor = medians(measures, _ROUNDS)
    finally:
        jail.stop()
        shutil.rmtree(top, ignore_errors=True)
    what = "the after-call work of a step that writes one small file"
    peer = "two fsynced appends, one fsynced object, one fork of the sandbox"
    figures = [
        Figure(what, at_10, peer, floor, 3),
        Figure(f"the same at step {_LATE:,}", at_5000, "at step 10", at_10, 1.25),
    ]
    report("after_call", "After every call", figures)


def _run_of(home: Home, steps: int) -> RunId:
    record = home.create_run(Question(by="bench"))
    seen = record.look([])
    for _ in range(steps):
        step = record.record_step(Call(tool="tmp.write", did=("wrote 12 bytes",)), seen).step
        record.record_evaluation(StepEvaluated(step=step, verdict="PASS", aggregate=1.0))
        seen = record.look([])
    return record.state.opened.run_id


def _after_call(run: Run) -> float:
    content = f"source,spend\n{os.urandom(4).hex()},1\n"
    outcome = run.execute("tmp.write", {"path": "small.csv", "text": content})
    start = time.perf_counter()
    run.record_outcome(outcome)
    return time.perf_counter() - start


def _floor(top: Path, jail: LocalJail) -> float:
    work = top / f"work-{os.urandom(4).hex()}"
    work.mkdir()
    start = time.perf_counter()
    for _ in range(2):
        _synced(top / "appended", os.O_APPEND)
    _synced(top / f"object-{os.urandom(4).hex()}", os.O_EXCL)
    session = jail.open_session(SessionSpec(name=work.name, work=str(work)))
    spent = time.perf_counter() - start
    session.close()
    return spent


def _synced(path: Path, flags: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o600)
    os.write(fd, b"x" * 300)
    os.fsync(fd)
    os.close(fd)


def _no_search() -> SearchProvider:
    raise NotImplementedError
