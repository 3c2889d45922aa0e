"""Change detection: every change is seen, and only what may have changed is read."""

import hashlib
import itertools
import mmap
import os
import time
from pathlib import Path

import pytest

from run_record import Call, Home, ObjectStore, RunRecord, Sha256, StepDone, hashed_copy
from run_record.hashed_copy import hash_file
from run_record.known_files import KnownFiles
from run_record.scan import Signature


class CountingStore(ObjectStore):
    """A real store that remembers how often it was asked to copy."""

    puts = 0

    def put(self, source: int) -> tuple[int, Sha256]:
        self.puts += 1
        return super().put(source)


@pytest.fixture
def store(home: Home) -> CountingStore:
    home.objects = CountingStore(home.root / "objects")
    return home.objects


def step(record: RunRecord) -> StepDone:
    return record.record_step(Call(tool="sandbox.exec"))


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the clock's tick: what was written just now is no longer too fresh to be sure of."""
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 1_000_000_000)


def paths(done: StepDone) -> list[str]:
    return [artifact.path for artifact in done.artifacts]


def test_what_is_recorded_while_a_look_scans_is_not_taken_for_removed(
    record: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that looks everywhere does not undo the upload that another one records meanwhile."""
    scan = record.workspace.scan

    def scan_and_upload() -> object:
        found = scan()
        record.workspace.write("upload.csv", b"a")
        record.record_step(Call(tool="tmp.write"), record.look(["upload.csv"]))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(type(record.workspace), "scan", lambda _: scan_and_upload())
        seen = record.look()
    done = record.record_step(Call(tool="sandbox.exec"), seen)
    assert (done.artifacts, done.removed) == ((), ())
    assert "upload.csv" in record.state.files


def test_new_changed_and_removed_files_are_told_apart(record: RunRecord) -> None:
    """Each step lists the files that are new or changed since the one before, and those that are gone."""
    root = record.workspace.root
    (root / "a").write_text("a1")
    (root / "b").write_text("b1")
    assert paths(step(record)) == ["a", "b"]
    assert paths(step(record)) == []
    (root / "a").write_text("a2")
    (root / "b").unlink()
    (root / "c").write_text("c1")
    done = step(record)
    assert (paths(done), done.removed) == (["a", "c"], ("b",))


def test_unchanged_files_are_not_read(record: RunRecord, later: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose signature is the same as when it was stored is not opened again."""
    (record.workspace.root / "file").write_text("x")
    step(record)
    opened: list[str] = []
    monkeypatch.setattr(record.workspace, "open", opened.append)
    assert paths(step(record)) == []
    assert opened == []


def test_a_touched_file_with_the_same_content_is_no_change(
    store: CountingStore, record: RunRecord, later: None
) -> None:
    """Touching a file makes it be read, but not stored and not listed."""
    file = record.workspace.root / "file"
    file.write_text("same")
    step(record)
    os.utime(file)
    assert paths(step(record)) == []
    assert store.puts == 1


def test_a_forged_mtime_hides_nothing(record: RunRecord, later: None) -> None:
    """Content of the same length under the old mtime is seen: a cell cannot set ctime back."""
    file = record.workspace.root / "file"
    file.write_text("old")
    step(record)
    before = file.stat()
    file.write_text("new")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert paths(step(record)) == ["file"]


def test_two_changes_within_one_tick_of_the_clock_are_both_seen(record: RunRecord) -> None:
    """A file that changes again at once, with the same length, is seen each time."""
    file = record.workspace.root / "file"
    for number in range(200):
        with file.open("r+b" if number else "wb") as stream:
            stream.write(b"%03d" % number)
        assert paths(step(record)) == ["file"], number


def test_a_file_that_changed_just_before_a_long_reading_is_read_again(
    record: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is when reading began: a file fresh at that moment may have changed once more while it was read."""
    looks = itertools.count()
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + next(looks) * 10_000_000_000)
    (record.workspace.root / "file").write_text("x")
    step(record)
    signature = record.workspace.scan().files["file"]
    assert record._known.content("file", signature) is None  # pyright: ignore[reportPrivateUsage]


def test_a_file_from_the_future_is_not_trusted() -> None:
    """When the clock went back, a file's signature lies ahead of it: such a file is read each time."""
    known = KnownFiles()
    now = time.time_ns()
    ahead = Signature(1, 3, now + 3_600_000_000_000, now + 3_600_000_000_000)
    known.learn("file", ahead, Sha256("0" * 64))
    assert known.content("file", ahead) is None


def test_a_coarse_file_system_gets_a_wider_margin() -> None:
    """Where times end in whole seconds, a file changed in the last two seconds is read again."""
    known = KnownFiles()
    second = time.time_ns() // 1_000_000_000 * 1_000_000_000
    recent = Signature(1, 3, second - 1_000_000_000, second - 1_000_000_000)
    known.learn("file", recent, Sha256("0" * 64))
    assert known.content("file", recent) is None


def test_what_is_known_outlives_the_process(
    home: Home, record: RunRecord, later: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second process reads nothing that the first has read."""
    (record.workspace.root / "file").write_text("x")
    step(record)
    again = home.open_run(record.state.opened.run_id)
    opened: list[str] = []
    monkeypatch.setattr(again.workspace, "open", opened.append)
    assert paths(step(again)) == []
    assert opened == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 99}', '{"format": 1, "files": {"a": [1]}}', "\0"])
def test_a_spoilt_memory_costs_time_not_truth(home: Home, record: RunRecord, content: str) -> None:
    """If what is known of files cannot be read, they are read again and nothing else happens."""
    (record.workspace.root / "file").write_text("x")
    step(record)
    (record.folder / "known_files.json").write_text(content)
    again = home.open_run(record.state.opened.run_id)
    assert paths(step(again)) == []
    (record.workspace.root / "file").write_text("y")
    assert paths(step(again)) == ["file"]


def test_a_known_hash_is_not_taken_for_a_stored_object(home: Home, record: RunRecord, later: None) -> None:
    """A file whose hash is known, but which no step has stored, is stored by the next step."""
    file = record.workspace.root / "file"
    file.write_text("x")
    with file.open("rb") as stream:
        sha256 = hash_file(stream.fileno())[1]
    record._known.learn("file", Signature.of(file.stat()), sha256)  # pyright: ignore[reportPrivateUsage]
    assert paths(step(record)) == ["file"]
    assert home.objects.read(sha256) == b"x"


def test_links_and_fifos_are_reported_once(record: RunRecord) -> None:
    """What is no plain file is reported by the step that meets it first, and not by every step after."""
    os.mkfifo(record.workspace.root / "fifo")
    assert step(record).skipped == {"fifo": "it is a fifo"}
    assert step(record).skipped == {}


def test_a_file_swapped_for_a_link_counts_as_removed(record: RunRecord) -> None:
    """A recorded file that becomes a link is gone from the record, and the link is reported."""
    file = record.workspace.root / "file"
    file.write_text("x")
    step(record)
    file.unlink()
    file.symlink_to("/etc/passwd")
    done = step(record)
    assert (done.removed, done.skipped) == (("file",), {"file": "it is a symbolic link"})


@pytest.fixture
def other(home: Home, record: RunRecord) -> RunRecord:
    """The same run, opened by another process."""
    return home.open_run(record.state.opened.run_id)


def test_another_process_that_records_meanwhile_is_not_contradicted(record: RunRecord, other: RunRecord) -> None:
    """What another process wrote or removed, and recorded, between our look and our step is not undone by our step."""
    root = record.workspace.root
    (root / "changed").write_text("1")
    (root / "removed").write_text("1")
    step(other)
    seen = record.look()
    (root / "uploaded").write_text("x")
    (root / "changed").write_text("2")
    (root / "removed").unlink()
    assert paths(step(other)) == ["changed", "uploaded"]
    done = record.record_step(Call(tool="sandbox.exec"), seen)
    assert (paths(done), done.removed, done.step) == ([], (), 3)
    assert record.state.files.keys() == {"uploaded", "changed"}


def test_a_record_opened_long_ago_sees_what_is_new_to_the_run(record: RunRecord, other: RunRecord) -> None:
    """A file that another process recorded and we then changed is in our step, although we knew nothing of it."""
    file = record.workspace.root / "file"
    file.write_text("theirs")
    step(other)
    file.write_text("ours")
    assert paths(step(record)) == ["file"]
    file.unlink()
    assert step(other).removed == ("file",)


def test_a_look_at_a_few_paths_leaves_the_rest_to_others(record: RunRecord) -> None:
    """An upload beside a running cell is recorded alone: the cell's half-written file is the cell's to record."""
    root = record.workspace.root
    (root / "half-written").write_text("…")
    (root / "uploaded").write_text("x")
    os.mkfifo(root / "fifo")
    upload = record.record_step(Call(tool="tmp.write"), record.look(["uploaded", "missing", "fifo"]))
    assert (paths(upload), list(upload.skipped)) == (["uploaded"], ["fifo"])
    assert paths(step(record)) == ["half-written"]
    (root / "uploaded").unlink()
    assert record.record_step(Call(tool="tmp.read"), record.look([])).removed == ()
    assert record.record_step(Call(tool="tmp.delete"), record.look(["uploaded"])).removed == ("uploaded",)


def test_a_file_changed_through_a_kept_mapping_is_seen(record: RunRecord, later: None) -> None:
    """A cell that keeps a file mapped and stores into it after it was hashed is found out by the next step."""
    file = record.workspace.root / "file"
    file.write_bytes(b"before")
    with file.open("r+b") as stream, mmap.mmap(stream.fileno(), 0) as mapping:
        mapping[0:1] = b"B"  # the page is dirty when it is hashed
        assert paths(step(record)) == ["file"]
        mapping[0:6] = b"after!"
        assert paths(step(record)) == ["file"]
    assert record.state.files["file"].artifact.sha256 == hashlib.sha256(b"after!").hexdigest()


def test_a_file_that_vanishes_while_we_look_is_not_mentioned(
    record: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A temporary file that was there for the scan and gone for the reading leaves no trace in the step."""
    file = record.workspace.root / "temporary"
    file.write_text("x")
    found = record.workspace.scan()
    monkeypatch.setattr(record.workspace, "scan", lambda: found)
    file.unlink()
    done = step(record)
    assert (paths(done), done.skipped) == ([], {})


def test_a_hole_of_any_size_is_passed_over(record: RunRecord) -> None:
    """A file that is larger than any we keep, though it takes no room, is skipped with the reason."""
    with (record.workspace.root / "hole").open("wb") as file:
        file.truncate(10**12)
    assert step(record).skipped == {"hole": "it is larger than 16,000,000,000 bytes"}


def test_a_file_that_grows_while_it_is_read_comes_to_an_end(tmp_path: Path) -> None:
    """A file is read as long as it was when reading began: its size and hash belong together."""
    path = tmp_path / "growing"
    path.write_bytes(bytes(3_000_000))
    with path.open("rb") as file, path.open("ab") as writer:
        chunks = hashed_copy._chunks(file.fileno())  # pyright: ignore[reportPrivateUsage]
        size = 0
        for chunk in itertools.islice(chunks, 20):
            size += len(chunk)
            os.write(writer.fileno(), bytes(2_000_000))
    assert size == 3_000_000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_a_folder_that_cannot_be_looked_into_is_passed_over(record: RunRecord) -> None:
    """A folder whose files cannot be looked at does not stop the record."""
    folder = record.workspace.root / "closed"
    folder.mkdir()
    (folder / "file").write_text("x")
    folder.chmod(0o400)
    try:
        assert list(step(record).skipped) == ["closed/file"]
    finally:
        folder.chmod(0o700)
