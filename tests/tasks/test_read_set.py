"""When what a cell read holds for another run."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from run_record import Sha256
from sandbox import Touched
from tasks.manifest import Entry, Manifests
from tasks.read_set import Files, ReadSet, empty_folders, observed, snapshot

A, B, C = (Sha256(letter * 64) for letter in "abc")
PATHS = st.sampled_from(["a.csv", "b.csv", "deep/a.csv", "deep/b.csv"])
NO_FILES: Files = {}
FILES = st.dictionaries(PATHS, st.sampled_from([A, B, C]))


def touched(**what: object) -> Touched:
    names = ("created", "changed", "deleted", "read", "listed", "missed", "asked")
    return Touched.model_validate({**dict.fromkeys(names, ()), "is_complete": True, **what})


def reads_of(what: Touched, source: str = "", before: Files = NO_FILES, after: Files = NO_FILES) -> ReadSet | None:
    return observed(what, source, snapshot(before), snapshot(after))


def holds(reads: ReadSet, now: Files) -> bool:
    return reads.holds(snapshot(now))


def test_it_holds_where_the_files_are_the_same() -> None:
    """Files that were not read may be anything."""
    reads = reads_of(touched(read=("a.csv",), missed=("no.csv",)), "", {"a.csv": A, "b.csv": B})
    assert reads
    assert holds(reads, {"a.csv": A, "b.csv": C})
    assert not holds(reads, {"a.csv": B})
    assert not holds(reads, {})
    assert not holds(reads, {"a.csv": A, "no.csv": B})


def test_what_it_made_counts_as_absent_before() -> None:
    """Whether a file was there may have decided what the cell did, also when it then made it."""
    made = touched(created=("out.csv", "made/b.csv"), missed=("made",), listed=(".",))
    reads = reads_of(made, "", {"a.csv": A}, {"a.csv": A, "out.csv": B, "made/b.csv": C})
    assert reads
    assert holds(reads, {"a.csv": A})
    assert not holds(reads, {"a.csv": A, "out.csv": B})
    assert not holds(reads, {"a.csv": A, "made/c.csv": C})


def test_folders_count_though_they_hold_nothing() -> None:
    """An empty folder was there, is listed, and is none when files lie in it."""
    before = snapshot({"full/deep/a.csv": A}, ["empty", "full/none"])
    assert set(before) == {"full/deep/a.csv", "full/deep/", "full/", "full/none/", "empty/"}
    assert empty_folders(before) == {"empty", "full/none"}
    reads = observed(touched(asked=("empty",), listed=("full",)), "", before, before)
    assert reads
    assert reads.holds(snapshot({"full/deep/b.csv": A, "empty/x": B}, ["full/none"]))
    assert not reads.holds(snapshot({"full/deep/a.csv": A}, ["full/none"]))
    assert not reads.holds(snapshot({"full/deep/a.csv": A}, ["empty"]))


def test_a_folder_that_was_listed_or_asked_for_counts() -> None:
    """By the names in it, or by its being there."""
    reads = reads_of(touched(listed=("deep",), asked=("other",)), "", {"deep/a.csv": A, "other/b.csv": B})
    assert reads
    assert holds(reads, {"deep/a.csv": C, "other/c.csv": B})
    assert not holds(reads, {"deep/a.csv": A, "deep/b.csv": B, "other/b.csv": B})
    assert not holds(reads, {"deep/a.csv": A})


def test_a_path_that_stands_in_the_code_counts() -> None:
    """A cell may ask for it in ways that nobody sees."""
    reads = reads_of(touched(), 'import subprocess\nsubprocess.run(["test", "-f", "flag.txt"])', {"flag.txt": A})
    assert reads
    assert not holds(reads, {})


def test_what_could_not_be_seen_is_kept_for_nobody() -> None:
    """Nor is what was made of the log, which is another in every run, or of what no record has, such as a link."""
    assert reads_of(touched(is_complete=False)) is None
    assert reads_of(touched(asked=("CEL.md",))) is None
    assert reads_of(touched(read=("CEL.md",))) is not None, "the record reads and writes it too"
    assert reads_of(touched(asked=("link",))) is None


@given(FILES, FILES, st.sets(PATHS), st.sets(st.sampled_from([".", "deep"])))
def test_it_holds_exactly_where_nothing_it_saw_has_changed(
    before: dict[str, Sha256], now: dict[str, Sha256], read: set[str], listed: set[str]
) -> None:
    """For any files before and now, and anything read and listed."""
    there, absent = tuple(read & before.keys()), tuple(read - before.keys())
    reads = reads_of(touched(read=there, missed=absent, listed=tuple(listed)), "", before)
    assert reads

    def names(folder: str, files: dict[str, Sha256]) -> set[str]:
        inside = files if folder == "." else [path[5:] for path in files if path.startswith("deep/")]
        return {path.partition("/")[0] for path in inside}

    is_same = all(before.get(path) == now.get(path) for path in read)
    assert holds(reads, now) == (is_same and all(names(f, before) == names(f, now) for f in listed))


def test_a_manifest_gives_the_newest_that_holds_and_forgets(tmp_path: Path) -> None:
    """Garbage in its place is no entry, and no error."""
    manifests = Manifests(tmp_path)
    for key, sha256 in ((A, A), (B, B)):
        manifests.add(C, Entry(key=key, reads=ReadSet(files={"a.csv": sha256}, folders={})))
    assert manifests.find(C, {"a.csv": A}) == A
    assert manifests.find(C, {"a.csv": B}) == B
    assert manifests.find(C, {"a.csv": C}) is None
    manifests.forget(C, A)
    assert manifests.find(C, {"a.csv": A}) is None
    next(tmp_path.rglob("*.json")).write_text("garbage")
    assert manifests.find(C, {"a.csv": B}) is None
    manifests.add(C, Entry(key=B, reads=ReadSet(files={}, folders={})))
    assert manifests.find(C, {}) == B


def entry(number: int) -> Entry:
    return Entry(key=Sha256(f"{number:064x}"), reads=ReadSet(files={f"{number}.csv": A}, folders={}))


def test_a_manifest_forgets_what_was_seen_longest_ago(tmp_path: Path) -> None:
    """Each look reads all of it, so it holds forty ways and no more; one that is seen again counts as new."""
    manifests = Manifests(tmp_path)
    for number in (*range(40), 0, 0, 40):
        manifests.add(C, entry(number))
    found = [manifests.find(C, {f"{number}.csv": A}) is not None for number in range(41)]
    assert [number for number, is_there in enumerate(found) if not is_there] == [1]


def test_who_writes_a_manifest_at_once_loses_nothing(tmp_path: Path) -> None:
    """Each adds to what the others have written."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: Manifests(tmp_path).add(C, entry(number)), range(30)))
    assert all(Manifests(tmp_path).find(C, {f"{number}.csv": A}) for number in range(30))
