"""Appending a step costs the same at the ten-thousandth as at the tenth."""

import os
import tempfile
from pathlib import Path
from unittest.mock import patch

from benchmarks.figure import Figure, in_turns, report
from run_record import Call, Home, Question, RunRecord, StepEvaluated

ROUNDS = 300
MANY = 10_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        young, old = _run_of(home, 10), _run_of(home, MANY)
        seed_young, seed_old = _seed_log(Path(folder) / "young.md", 10), _seed_log(Path(folder) / "old.md", MANY)
        at_10, at_many, seed_10, seed_many = in_turns(
            [
                lambda: _step(young),
                lambda: _step(old),
                lambda: _seed_append(seed_young),
                lambda: _seed_append(seed_old),
            ],
            ROUNDS,
        )
        small, large = _run_of(home, 10), _run_of(home, 10, files=2_000)
        among_20, among_many = in_turns([lambda: _new_file(small), lambda: _new_file(large)], 100)
        syncs = in_turns([lambda: _two_syncs(Path(folder) / "floor")], ROUNDS)[0]
    report(
        "append_step",
        "Appending a step, recorded and evaluated, with every fsync",
        [
            Figure(f"a step at n = {MANY:,}", at_many, "a step at n = 10", at_10, 1.1),
            Figure(f"a step at n = {MANY:,}", at_many, "the seed's read-all-write-all at the same n", seed_many),
            Figure(f"the seed's at n = {MANY:,}", seed_many, "the seed's at n = 10", seed_10),
            Figure("a step that adds a file to 2,000", among_many, "one that adds a file to 20", among_20),
            Figure("a step at n = 10", at_10, "four fsynced appends and nothing else", 2 * syncs),
        ],
        [
            f"Each was measured {ROUNDS} times, so n runs on to {10 + ROUNDS} and {MANY + ROUNDS:,}.",
            "A step looks at every file's signature, so its time grows with the number of files, by about 5 µs each.",
            "The seed's example is given one fsync for each of its two writes, which it lacks.",
        ],
    )


def _run_of(home: Home, steps: int, files: int = 20) -> RunRecord:
    """A run with so many steps behind it and so many files in it, made without waiting for the disk."""
    record = home.create_run(Question(objective="How fast?", by="bench"))
    for number in range(files):
        record.workspace.write(f"file-{number}", os.urandom(1000))
    with patch.object(os, "fsync", int), patch.object(os, "fdatasync", int):
        for _ in range(steps):
            _step(record)
    return record


def _step(record: RunRecord) -> None:
    did = ("Merged spend with lead counts per source", "Calculated CAC and saved the table")
    done = record.record_step(Call(tool="sandbox.exec", name="kpis", inputs={"cell": "kpis"}, did=did))
    record.record_evaluation(StepEvaluated(step=done.step, verdict="PASS", aggregate=0.97, critique="all there"))


def _new_file(record: RunRecord) -> None:
    (record.workspace.root / f"new-{len(record.state.steps)}").write_bytes(os.urandom(1000))
    _step(record)


def _seed_log(path: Path, steps: int) -> Path:
    path.write_text("# Context Engineering Log (CEL)\n\n" + _SEED_BLOCK.replace("PENDING", "PASS") * steps)
    return path


_SEED_BLOCK = """
## Step 3: sandbox.exec
**When:** 2026-11-18T09:00:00Z
**Inputs:** cell="kpis"
**What I did:**
- Merged spend with lead counts per source
- Calculated CAC and saved the table
**Artifacts:** none
**Next steps:** none
**Evaluation (by Evaluator):** PENDING
"""


def _seed_append(path: Path) -> None:
    """As the seed's two example cells: read all, write all; then read all again to replace PENDING."""
    _write_synced(path, path.read_text() + _SEED_BLOCK)
    head, _, tail = path.read_text().rpartition("PENDING")
    _write_synced(path, f"{head}PASS{tail}")


def _write_synced(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _two_syncs(path: Path) -> None:
    with path.open("ab") as file:
        for _ in range(2):
            os.write(file.fileno(), b"x" * 600)
            os.fdatasync(file.fileno())
