"""When what a cell read holds for another run."""

from hypothesis import given
from hypothesis import strategies as st

from run_record import Sha256
from sandbox import Touched
from tasks.manifest import Entry, Manifests
from tasks.read_set import ReadSet, observed

A, B, C = (Sha256(letter * 64) for letter in "abc")
PATHS = st.sampled_from(["a.csv", "b.csv", "deep/a.csv", "deep/b.csv"])
FILES = st.dictionaries(PATHS, st.sampled_from([A, B, C]))


def touched(**what: object) -> Touched:
    names = ("created", "changed", "deleted", "read", "listed", "missed", "asked")
    return Touched.model_validate({**dict.fromkeys(names, ()), "is_complete": True, **what})


def test_it_holds_where_the_files_are_the_same() -> None:
    """Files that were not read may be anything."""
    reads = observed(touched(read=("a.csv",), missed=("no.csv",)), "", {"a.csv": A, "b.csv": B})
    assert reads
    assert reads.holds({"a.csv": A, "b.csv": C}, {})
    assert not reads.holds({"a.csv": B}, {})
    assert not reads.holds({}, {})
    assert not reads.holds({"a.csv": A, "no.csv": B}, {})


def test_its_own_files_may_lie_there_already() -> None:
    """A step that is done over finds what it made itself; what another made in its place counts."""
    reads = observed(touched(created=("out.csv", "made/b.csv"), missed=("made",), listed=(".",)), "", {"a.csv": A})
    own = {"out.csv": B, "made/b.csv": C}
    assert reads
    assert reads.holds({"a.csv": A}, own)
    assert reads.holds({"a.csv": A, **own}, own)
    assert not reads.holds({"a.csv": A, "out.csv": C}, own)
    assert not reads.holds({"a.csv": A, "made/c.csv": C}, own)


def test_a_folder_that_was_listed_or_asked_for_counts() -> None:
    """By the names in it, or by its being there."""
    reads = observed(touched(listed=("deep",), asked=("other",)), "", {"deep/a.csv": A, "other/b.csv": B})
    assert reads
    assert reads.holds({"deep/a.csv": C, "other/c.csv": B}, {})
    assert not reads.holds({"deep/a.csv": A, "deep/b.csv": B, "other/b.csv": B}, {})
    assert not reads.holds({"deep/a.csv": A}, {})


def test_a_path_that_stands_in_the_code_counts() -> None:
    """A cell may ask for it in ways that nobody sees."""
    reads = observed(touched(), 'import subprocess\nsubprocess.run(["test", "-f", "flag.txt"])', {"flag.txt": A})
    assert reads
    assert not reads.holds({}, {})


def test_what_could_not_be_seen_is_kept_for_nobody() -> None:
    """Nor is what was made of the log, which is another in every run."""
    assert observed(touched(is_complete=False), "", {}) is None
    assert observed(touched(read=("CEL.md",)), "", {}) is None


@given(FILES, FILES, st.sets(PATHS), st.sets(st.sampled_from([".", "deep"])))
def test_it_holds_exactly_where_nothing_it_saw_has_changed(
    before: dict[str, Sha256], now: dict[str, Sha256], read: set[str], listed: set[str]
) -> None:
    """For any files before and now, and anything read and listed."""
    there, absent = tuple(read & before.keys()), tuple(read - before.keys())
    reads = observed(touched(read=there, missed=absent, listed=tuple(listed)), "", before)
    assert reads

    def names(folder: str, files: dict[str, Sha256]) -> set[str]:
        inside = files if folder == "." else [path[5:] for path in files if path.startswith("deep/")]
        return {path.partition("/")[0] for path in inside}

    is_same = all(before.get(path) == now.get(path) for path in read)
    assert reads.holds(now, {}) == (is_same and all(names(f, before) == names(f, now) for f in listed))


def test_a_manifest_gives_the_newest_that_holds_and_forgets(tmp_path) -> None:
    """Garbage in its place is no entry, and no error."""
    manifests = Manifests(tmp_path)
    for key, sha256 in ((A, A), (B, B)):
        manifests.add(C, Entry(key=key, reads=ReadSet(files={"a.csv": sha256}, folders={}), own={}))
    assert manifests.find(C, {"a.csv": A}) == A
    assert manifests.find(C, {"a.csv": B}) == B
    assert manifests.find(C, {"a.csv": C}) is None
    manifests.forget(C, A)
    assert manifests.find(C, {"a.csv": A}) is None
    next(tmp_path.rglob("*.json")).write_text("garbage")
    assert manifests.find(C, {"a.csv": B}) is None
    manifests.add(C, Entry(key=B, reads=ReadSet(files={}, folders={}), own={}))
    assert manifests.find(C, {}) == B
