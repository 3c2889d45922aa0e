"""Verification: whatever is not what the record says is found and named."""

import json
import multiprocessing
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.forger import forge
from run_record import Call, Home, RunRecord, StepEvaluated
from run_record.scan import Signature
from run_record.verification import Verification, verify


@pytest.fixture
def closed(record: RunRecord) -> RunRecord:
    """A run with two files, closed."""
    record.workspace.write("facts.json", b"{}")
    record.workspace.write("artifacts/brief.pdf", b"%PDF")
    record.record_step(Call(tool="sandbox.exec"))
    record.record_evaluation(StepEvaluated(step=1, verdict="PASS"))
    record.close("done")
    return record


def check(home: Home, record: RunRecord) -> Verification:
    return verify(record.folder, home.objects, lambda what: None)


def object_of(home: Home, record: RunRecord, path: str) -> Path:
    sha256 = record.state.files[path].artifact.sha256
    return home.root / "objects" / sha256[:2] / sha256[2:]


def test_a_whole_run_is_called_whole(home: Home, closed: RunRecord) -> None:
    """An untouched run has no damage and no remarks, and everything was counted."""
    found = check(home, closed)
    assert (found.damage, found.remarks) == ([], [])
    assert (found.records, found.objects, found.object_bytes, found.files) == (4, 2, 6, 2)


def flip(path: Path, position: int = -1) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    mode = path.stat().st_mode
    path.chmod(0o600)
    path.write_bytes(content)
    path.chmod(mode)


@pytest.mark.parametrize(
    ("spoil", "where"),
    [
        (lambda home, run: flip(run.folder / "journal.jsonl", 50), "journal.jsonl"),
        (lambda home, run: flip(run.folder / "journal.jsonl", -3), "journal.jsonl"),
        (lambda home, run: flip(run.folder / "head", 30), "head"),
        (lambda home, run: (run.folder / "head").unlink(), "journal.jsonl"),
        (lambda home, run: flip(run.folder / "CEL.md"), "CEL.md"),
        (lambda home, run: flip(run.workspace.root / "CEL.md"), "tmp/CEL.md"),
        (lambda home, run: (run.folder / "CEL.md").unlink(), "CEL.md"),
        (lambda home, run: flip(run.folder / "index.json"), "index.json"),
        (lambda home, run: (run.folder / "index.json").unlink(), "index.json"),
        (lambda home, run: flip(object_of(home, run, "facts.json")), "facts.json (step 1)"),
        (lambda home, run: object_of(home, run, "facts.json").unlink(), "facts.json (step 1)"),
        (lambda home, run: flip(run.workspace.root / "facts.json"), "tmp/facts.json"),
        (lambda home, run: (run.workspace.root / "facts.json").unlink(), "tmp/facts.json"),
        (lambda home, run: (run.workspace.root / "new").write_text("x"), "tmp/new"),
    ],
)
def test_each_damage_is_found_where_it_is(
    home: Home, closed: RunRecord, spoil: Callable[[Home, RunRecord], None], where: str
) -> None:
    """One thing spoilt is one damage, reported at its place; nothing is changed by looking."""
    spoil(home, closed)
    assert [damage.where for damage in check(home, closed).damage] == [where]
    assert [damage.where for damage in check(home, closed).damage] == [where]


def test_a_forged_mtime_does_not_hide_a_changed_file(home: Home, closed: RunRecord) -> None:
    """Verification trusts no signature: every file is hashed again."""
    file = closed.workspace.root / "facts.json"
    before = file.stat()
    flip(file)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert [damage.where for damage in check(home, closed).damage] == ["tmp/facts.json"]


def test_what_is_known_of_files_is_not_believed(home: Home, closed: RunRecord) -> None:
    """Verification does not take the cache's word: a changed file is found even if the cache vouches for it."""
    file = closed.workspace.root / "facts.json"
    flip(file)
    vouched = {"facts.json": [*Signature.of(file.stat()), closed.state.files["facts.json"].artifact.sha256]}
    (closed.folder / "known_files.json").write_text(json.dumps({"format": 1, "files": vouched}))
    assert [damage.where for damage in check(home, closed).damage] == ["tmp/facts.json"]


def test_an_open_run_may_have_unrecorded_changes(home: Home, record: RunRecord) -> None:
    """In an open run a changed file is a remark: the next step records it."""
    record.workspace.write("facts.json", b"{}")
    found = check(home, record)
    assert found.damage == []
    assert found.remarks == ["tmp/facts.json is not in the record since the last step"]


def test_a_run_whose_files_are_gone_is_reported(home: Home, closed: RunRecord) -> None:
    """With tmp/ gone, verification says so, and a note still gets in."""
    shutil.rmtree(closed.workspace.root)
    assert {damage.where for damage in check(home, closed).damage} == {"tmp", "tmp/CEL.md"}
    home.open_run(closed.state.opened.run_id).note("anna", "where are the files?")


def test_two_steps_with_one_number_are_damage(home: Home, record: RunRecord) -> None:
    """A journal in which a step number comes twice is damaged, however well it is chained."""
    for _ in range(2):
        record.record_step(Call(tool="sandbox.exec"))
    forge(record.folder, lambda body: body.replace(b'"step":2', b'"step":1'))
    assert [damage.problem for damage in check(home, record).damage] == ["step 1 follows step 1"]


def test_a_cell_cannot_keep_verification_busy(home: Home, record: RunRecord) -> None:
    """A copy of CEL.md swapped for a fifo, or blown up to a terabyte, is damage and is not read."""
    copy = record.workspace.root / "CEL.md"
    copy.unlink()
    os.mkfifo(copy)
    assert [damage.where for damage in check(home, record).damage] == ["tmp/CEL.md"]
    copy.unlink()
    with copy.open("wb") as file:
        file.truncate(10**12)
    assert [damage.where for damage in check(home, record).damage] == ["tmp/CEL.md"]
    home.open_run(record.state.opened.run_id).note("anna", "restores it")
    assert check(home, record).damage == []


def test_a_run_can_be_verified_while_it_is_written(home: Home, record: RunRecord) -> None:
    """Beside a process that notes as fast as it can, verification finds nothing wrong."""

    def write() -> None:
        other = home.open_run(record.state.opened.run_id)
        for number in range(10_000):
            other.note("anna", str(number))

    writer = multiprocessing.get_context("fork").Process(target=write, daemon=True)
    writer.start()
    try:
        findings = [check(home, record).damage for _ in range(100)]
    finally:
        writer.kill()
        writer.join()
    assert findings == [[]] * 100


def test_an_index_lost_in_a_crash_comes_back(home: Home, closed: RunRecord) -> None:
    """A closed run whose index was not written is whole again after it is next opened."""
    (closed.folder / "index.json").unlink()
    home.open_run(closed.state.opened.run_id)
    assert check(home, closed).damage == []


def test_a_torn_tail_is_a_remark(home: Home, record: RunRecord) -> None:
    """Bytes that were never acknowledged are no damage."""
    with (record.folder / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"format":1,"n":2')
    found = check(home, record)
    assert found.damage == []
    assert "17 bytes" in found.remarks[0]


def test_a_clock_that_went_back_is_a_remark(home: Home, record: RunRecord, clock) -> None:
    """Times out of order are told, and are no damage."""
    clock.move(-3600)
    record.note("anna", "an hour ago")
    found = check(home, record)
    assert found.damage == []
    assert found.remarks == ["the clock went back before record 2; order is by number, not by time"]
