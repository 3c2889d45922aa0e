"""Bytes named by their hash."""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from run_record import Home, ObjectStore, RunRecord, Sha256
from run_record.errors import DamagedRecord


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore.create(tmp_path / "objects")


def put(store: ObjectStore, content: bytes) -> Sha256:
    fd = os.memfd_create("source")
    os.write(fd, content)
    size, sha256 = store.put(fd)
    os.close(fd)
    assert size == len(content)
    return sha256


def path_of(tmp_path: Path, sha256: Sha256) -> Path:
    return tmp_path / "objects" / sha256[:2] / sha256[2:]


@pytest.mark.parametrize("content", [b"", b"x", os.urandom(2_500_000)])
def test_bytes_come_back_by_their_hash(store: ObjectStore, content: bytes) -> None:
    """What is put comes back under the sha256 of its bytes."""
    sha256 = put(store, content)
    assert sha256 == hashlib.sha256(content).hexdigest()
    assert store.read(sha256) == content
    assert store.check(sha256) == len(content)


def test_an_object_is_written_once_and_read_only(store: ObjectStore, tmp_path: Path) -> None:
    """The same bytes put twice are one file, which nobody may write."""
    sha256 = put(store, b"same")
    before = path_of(tmp_path, sha256).stat()
    assert put(store, b"same") == sha256
    after = path_of(tmp_path, sha256).stat()
    assert after.st_ino == before.st_ino
    assert after.st_mode & 0o777 == 0o444
    assert list(store.sizes()) == [4]


def test_bytes_in_memory_can_be_had_in_the_store(store: ObjectStore, tmp_path: Path) -> None:
    """What is not there, or not whole, is written; what is there stays as it is."""
    sha256 = store.have(b"same")
    assert store.read(sha256) == b"same"
    before = path_of(tmp_path, sha256).stat()
    assert store.have(b"same") == put(store, b"same") == sha256
    assert path_of(tmp_path, sha256).stat().st_ino == before.st_ino
    path_of(tmp_path, sha256).unlink()
    path_of(tmp_path, sha256).write_bytes(b"sane")
    store.have(b"same")
    assert store.read(sha256) == b"same"


@pytest.mark.parametrize("damage", [b"sane", b"sam", b"same!", b""])
def test_a_damaged_object_is_never_given_out(store: ObjectStore, tmp_path: Path, damage: bytes) -> None:
    """An object whose bytes changed is refused by every way of reading it, with its name and a remedy."""
    sha256 = put(store, b"same")
    path_of(tmp_path, sha256).chmod(0o644)
    path_of(tmp_path, sha256).write_bytes(damage)
    target = os.memfd_create("target")
    for attempt in (lambda: store.read(sha256), lambda: store.check(sha256), lambda: store.copy_to(sha256, target)):
        with pytest.raises(DamagedRecord, match=sha256) as refusal:
            attempt()
        assert refusal.value.remedy
    os.close(target)


@pytest.mark.parametrize("damage", [b"sane", b"sam"])
def test_putting_the_same_bytes_again_mends_an_object(store: ObjectStore, tmp_path: Path, damage: bytes) -> None:
    """Put again, a damaged object is whole again, whether its length had changed or only its bytes."""
    sha256 = put(store, b"same")
    path_of(tmp_path, sha256).chmod(0o644)
    path_of(tmp_path, sha256).write_bytes(damage)
    put(store, b"same")
    assert store.read(sha256) == b"same"


def test_a_missing_object_is_damage(store: ObjectStore) -> None:
    """An object that the record names and the store lacks is damage, not an empty file."""
    with pytest.raises(DamagedRecord, match="cannot be read"):
        store.read(Sha256("0" * 64))


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "ab", "Z" * 64, "0" * 63 + "/"])
def test_only_hashes_name_objects(store: ObjectStore, name: str) -> None:
    """Nothing but a sha256 is looked up in the store."""
    with pytest.raises(DamagedRecord, match="no sha256"):
        store.read(Sha256(name))


def test_a_store_that_somebody_emptied_takes_objects_again(store: ObjectStore, tmp_path: Path) -> None:
    """Also from a process that has put some there before."""
    shutil.rmtree(path_of(tmp_path, put(store, b"whole")).parent)
    assert store.read(put(store, b"whole")) == b"whole"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_plain_file_is_damage(store: ObjectStore, tmp_path: Path, make: Callable[[Path], None]) -> None:
    """Nobody waits at a fifo, and the same bytes take its place."""
    sha256 = put(store, b"whole")
    path_of(tmp_path, sha256).unlink()
    make(path_of(tmp_path, sha256))
    with pytest.raises(DamagedRecord, match="no plain file"):
        store.read(sha256)
    put(store, b"whole")
    assert store.read(sha256) == b"whole"


def test_a_link_in_the_store_is_not_followed(store: ObjectStore, tmp_path: Path) -> None:
    """An object swapped for a link is damage, even if the link leads to the same bytes."""
    sha256 = put(store, b"same")
    (tmp_path / "elsewhere").write_bytes(b"same")
    path_of(tmp_path, sha256).unlink()
    path_of(tmp_path, sha256).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedRecord):
        store.read(sha256)


def test_what_a_killed_process_left_half_written_is_swept(store: ObjectStore, tmp_path: Path) -> None:
    """A draft that nobody is writing any more is gone after the next put; one being written stays."""
    (tmp_path / "objects" / "incoming" / "left-behind").write_bytes(b"half")
    put(store, b"x")
    assert list((tmp_path / "objects" / "incoming").iterdir()) == []
    with store._incoming.draft() as busy:  # pyright: ignore[reportPrivateUsage]  (a writer in the middle of it)
        put(ObjectStore(tmp_path / "objects"), b"y")
        assert busy.path.exists()


def test_the_copy_is_what_is_hashed(store: ObjectStore, tmp_path: Path) -> None:
    """A file that changes after it was put leaves its object as it was hashed."""
    source = tmp_path / "source"
    source.write_bytes(b"before")
    with source.open("rb") as file:
        _, sha256 = store.put(file.fileno())
    source.write_bytes(b"after")
    assert store.read(sha256) == b"before"


def test_others_cannot_look_into_the_store(home: Home, record: RunRecord) -> None:
    """A run's cells have another uid and must not read other runs' bytes: the store is its owner's alone."""
    assert (home.root / "objects").stat().st_mode & 0o077 == 0
