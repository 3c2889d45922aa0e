"""When the machine fails: what was acknowledged is what is recovered."""

import errno
import os
import resource
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fakes.disk import CALLS, FailingDisk, ListeningDisk
from run_record import Call, Home, Question, RunRecord, read_journal
from run_record.cel import cel_text
from run_record.errors import MachineRefused, RunRecordError
from run_record.facts import NoteAdded, StepDone
from run_record.journal import THE_RECORD
from run_record.verification import verify

ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EDQUOT": errno.EDQUOT}


@dataclass
class Diary:
    """Does a few things with a run, and keeps what was acknowledged."""

    record: RunRecord
    acknowledged: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def live(self) -> None:
        for number in (1, 2):
            self._try(f"step {number}", lambda n=number: self._write_and_step(n))
            self._try(f"note {number}", lambda n=number: self.record.note("anna", f"note {n}"))

    def _write_and_step(self, number: int) -> None:
        self.record.workspace.write(f"file-{number}", b"x" * 5000)
        self.record.record_step(Call(tool="tmp.write", name=f"step {number}"))

    def _try(self, what: str, act) -> None:
        try:
            act()
        except (RunRecordError, OSError):
            self.refused.append(what)
        else:
            self.acknowledged.append(what)


def recorded(folder: Path) -> list[str]:
    """What the journal holds, less the notes of the record itself."""
    facts = [entry.fact for entry in read_journal(folder).entries[1:]]
    return [
        fact.name if isinstance(fact, StepDone) else fact.text
        for fact in facts
        if isinstance(fact, StepDone) or (isinstance(fact, NoteAdded) and fact.by != THE_RECORD)
    ]


def assert_whole(home: Home, record: RunRecord) -> None:
    """After the next opening everything agrees: journal, CEL.md in both copies, objects."""
    again = home.open_run(record.state.opened.run_id)
    text = cel_text(read_journal(again.folder).entries)
    assert (again.folder / "CEL.md").read_text() == text
    assert (again.workspace.root / "CEL.md").read_text() == text
    found = verify(again.folder, home.objects, lambda what: None)
    assert found.damage == []


@pytest.mark.parametrize("kind", ["once", "short", "for good", "the head for good"])
@pytest.mark.parametrize("error", ERRORS)
def test_a_failure_at_any_call_loses_nothing_that_was_acknowledged(tmp_path: Path, error: str, kind: str) -> None:
    """Each call that writes, syncs, renames or makes something fails in turn: what was acknowledged is recovered, and
    what was refused is not there (but for one record at the end, if the disk stays so bad that it cannot be undone)."""
    for fails_at in range(1, 200):
        home = Home(tmp_path / f"{fails_at}")
        diary = Diary(home.create_run(Question(by="anna")))
        names = ("pwrite", "fdatasync") if kind == "the head for good" else CALLS
        stays_bad = kind.endswith("for good")
        disk = FailingDisk(fails_at, ERRORS[error], stays_bad=stays_bad, short=kind == "short", names=names)
        with disk.installed():
            diary.live()
        assert_whole(home, diary.record)
        found = recorded(diary.record.folder)
        extra = found[len(diary.acknowledged) :]
        assert found == diary.acknowledged + extra, fails_at
        assert extra == [] or (stays_bad and extra == diary.refused[:1]), fails_at
        if not disk.has_failed:
            assert diary.refused == []
            break
    else:
        pytest.fail("the disk never stopped failing")
    assert fails_at > (20 if names == CALLS else 5), "the matrix is as long as the calls are many"


def test_nothing_is_named_before_it_is_on_disk(record: RunRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order in which a step comes to rest: object, its name, the journal, the head; only then CEL.md shows it."""
    monkeypatch.setattr("run_record.hashed_copy._clone", lambda source, target: False)  # where blocks can be shared
    (record.workspace.root / "file").write_text("x")
    disk = ListeningDisk()
    with disk.installed():
        record.record_step(Call(tool="sandbox.exec"))
    run = record.folder.name
    assert disk.heard == [
        "fdatasync tmp/file",  # what a kept mapping changes from now on shows
        "write incoming/DRAFT",
        "fsync incoming/DRAFT",
        "fsync home/objects",  # the folder's name
        "rename incoming/DRAFT → ab/OBJECT",
        "fsync objects/ab",
        f"write {run}/journal.jsonl",
        f"fdatasync {run}/journal.jsonl",
        f"pwrite {run}/head",
        f"fdatasync {run}/head",
        f"write {run}/CEL.md",
        "write tmp/CEL.md",
    ]


def test_a_run_is_on_disk_before_it_has_a_name(home: Home) -> None:
    """Journal and head of a new run are synced, names and all, before the run appears."""
    disk = ListeningDisk()
    with disk.installed():
        record = home.create_run(Question(by="anna"))
    run = record.folder.name
    (born,) = [i for i, call in enumerate(disk.heard) if call.endswith(f" → runs/{run}")]
    unborn = disk.heard[born].split()[1]
    folder = unborn.split("/")[1]
    for name in ("journal.jsonl", "head"):
        temporary = f"{folder}/.{name}.{os.getpid()}.new"
        written = disk.heard.index(f"write {temporary}")
        assert disk.heard[written + 1 : written + 4] == [
            f"fsync {temporary}",
            f"rename {temporary} → {folder}/{name}",
            f"fsync {unborn}",
        ]
        assert written < born
    assert disk.heard[born + 1] == "fsync home/runs"


def test_the_run_goes_on_when_the_disk_recovers(home: Home, record: RunRecord) -> None:
    """After a refused step the same record takes the next one, in the same process, with everything in it."""
    record.workspace.write("file", b"x")
    with FailingDisk(1, stays_bad=True).installed(), pytest.raises(MachineRefused, match="No space left") as refusal:
        record.record_step(Call(tool="sandbox.exec"))
    assert "free some space" in refusal.value.remedy
    done = record.record_step(Call(tool="sandbox.exec"))
    assert (done.step, [a.path for a in done.artifacts]) == (1, ["file"])
    assert_whole(home, record)


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("fails_at", [2, 3])
def test_a_log_that_cannot_be_written_does_not_undo_the_entry(
    record: RunRecord, caplog: pytest.LogCaptureFixture, fails_at: int, short: bool
) -> None:
    """CEL.md is derived: if the disk fills up after the journal took an entry, the entry stands, either copy of the log
    catches up with the next one, and nobody is accused of having changed it."""
    # The first write is the journal's, then come CEL.md and its copy.
    with FailingDisk(fails_at, names=("write",), short=short).installed():
        record.note("anna", "first")
    assert "it will be caught up" in caplog.text
    record.note("anna", "second")
    assert recorded(record.folder) == ["first", "second"]
    assert [note.by for _, note in record.state.notes] == ["anna", "anna"]
    text = cel_text(read_journal(record.folder).entries)
    assert (record.folder / "CEL.md").read_text() == text
    assert (record.workspace.root / "CEL.md").read_text() == text


def test_a_real_file_size_limit_is_a_clear_error(record: RunRecord) -> None:
    """The kernel itself refuses bytes beyond a limit: the short write is taken back and the journal stays whole."""
    size = (record.folder / "journal.jsonl").stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, before[1]))
    try:
        with pytest.raises(MachineRefused, match="ulimit"):
            record.note("anna", "too long " * 50)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert (record.folder / "journal.jsonl").stat().st_size == size
    record.note("anna", "fits")
    assert recorded(record.folder) == ["fits"]


LIFE = """
import sys
from pathlib import Path
from run_record import Call, Home, StepEvaluated
home = Home(Path(sys.argv[1]))
record = home.open_run(sys.argv[2])
count = int(sys.argv[3])
for number in range(1, count + 1):
    record.workspace.write(f"file-{number % 5}", b"%d" % number)
    step = record.record_step(Call(tool="tmp.write", name=f"step {number}"))
    print(f"step {number}", flush=True)
    record.record_evaluation(StepEvaluated(step=step.step, verdict="PASS"))
    record.note("anna", f"note {number}")
    print(f"note {number}", flush=True)
"""


def life(home: Home, record: RunRecord, count: int, *before: str) -> subprocess.Popen[bytes]:
    """A process that records and says what was acknowledged."""
    command = [*before, sys.executable, "-c", LIFE, str(home.root), record.state.opened.run_id, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)


def assert_survived(home: Home, record: RunRecord, said: list[str]) -> None:
    """All that was said to be recorded is there, in order; at most the one being acknowledged is there besides."""
    assert_whole(home, record)
    found = recorded(record.folder)
    assert found[: len(said)] == said
    assert len(found) <= len(said) + 1


def test_killed_in_a_loop_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    """Killed outright at many different moments, a run comes back each time with all it acknowledged."""
    for number in range(12):
        home = Home(tmp_path / str(number))
        record = home.create_run(Question(by="anna"))
        with life(home, record, 10_000) as process:
            assert process.stdout
            said = [process.stdout.readline().decode().strip() for _ in range(1 + number * 3)]
            process.kill()
            said += process.stdout.read().decode().split("\n")[:-1]
        assert_survived(home, record, said)


# Everything by which bytes, names and sizes come to disk, and the locks around them.
CHANGING = ["write", "pwrite64", "fsync", "fdatasync", "rename", "ftruncate", "unlink", "mkdir", "fchmod", "flock"]
REFUSABLE = ["pwrite64", "fsync", "fdatasync", "rename", "ftruncate", "mkdir"]


def has_strace() -> bool:
    try:
        return subprocess.run(["strace", "-o", "/dev/null", "true"], check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def traced(home: Home, record: RunRecord, inject: str) -> tuple[bool, list[str]]:
    """Live under strace; whether it interfered, and what was said to be recorded."""
    log = home.root / "strace.log"
    with life(home, record, 3, "strace", "-f", "-o", str(log), "-e", f"inject={inject}") as process:
        assert process.stdout
        said = process.stdout.read().decode().split("\n")[:-1]
    return "(INJECTED)" in log.read_text() or process.returncode != 0, said


ALL_OF_IT = ["step 1", "note 1", "step 2", "note 2", "step 3", "note 3"]


@pytest.mark.long
@pytest.mark.strace
@pytest.mark.skipif("not has_strace()", reason="no strace here")
@pytest.mark.parametrize("call", CHANGING)
def test_killed_at_every_system_call_nothing_acknowledged_is_lost(tmp_path: Path, call: str) -> None:
    """Killed at the first, second, third … call that changes the disk, until it lives through: all it said is there."""
    for when in range(1, 500):
        home = Home(tmp_path / str(when))
        record = home.create_run(Question(by="anna"))
        was_killed, said = traced(home, record, f"{call}:signal=KILL:when={when}")
        assert_survived(home, record, said)
        if not was_killed:
            break
    assert said == ALL_OF_IT
    assert when > 1, "this call is never made"


@pytest.mark.long
@pytest.mark.strace
@pytest.mark.skipif("not has_strace()", reason="no strace here")
@pytest.mark.parametrize("call", REFUSABLE)
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_refused_at_every_system_call_nothing_acknowledged_is_lost(tmp_path: Path, error: str, call: str) -> None:
    """The kernel refuses the first, second, third … sync, rename or head: what was said is there, and nothing else."""
    for when in range(1, 500):
        home = Home(tmp_path / str(when))
        record = home.create_run(Question(by="anna"))
        was_refused, said = traced(home, record, f"{call}:error={error}:when={when}")
        assert_whole(home, record)
        assert recorded(record.folder) == said
        if not was_refused:
            break
    assert said == ALL_OF_IT
    assert when > 1, "this call is never made"
