"""An index that follows its folder, whatever happens to either."""

import multiprocessing
import os
import resource
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.library import Library
from three_tools.errors import ProviderDown
from three_tools.search.folder_files import file_url
from three_tools.search.folder_index import FolderIndex
from three_tools.search.local_folder import LocalFolderSearch
from three_tools.search.provider import SearchQuery


def test_the_index_follows_the_folder(library: Library) -> None:
    """New, changed, renamed and removed files are noticed by the next look."""
    path = library.write("a.txt", "tariff")
    assert library.urls("tariff quota") == ["file:a.txt"]
    library.write("sub/b.txt", "quota")
    assert sorted(library.urls("tariff quota")) == ["file:a.txt", "file:sub/b.txt"]
    path.write_text("nothing of it")
    assert library.urls("tariff quota") == ["file:sub/b.txt"]
    path.rename(library.folder / "c.txt")
    assert library.urls("nothing") == ["file:c.txt"]
    (library.folder / "c.txt").unlink()
    assert library.urls("nothing") == []


def test_a_look_is_good_for_a_while(tmp_path: Path) -> None:
    """Within five seconds of the last look the folder is not looked through again."""
    now = [0.0]
    (tmp_path / "a.txt").write_text("tariff")
    provider = LocalFolderSearch(tmp_path, tmp_path / "home" / "x", lambda: now[0])
    assert len(provider.search(SearchQuery("tariff")).hits) == 1
    (tmp_path / "b.txt").write_text("tariff")
    assert len(provider.search(SearchQuery("tariff")).hits) == 1
    now[0] = 5.1
    assert len(provider.search(SearchQuery("tariff")).hits) == 2
    provider.close()


def test_only_what_changed_is_read_again(library: Library) -> None:
    """A file that did not change is not opened again: what the index says of it stands."""
    library.write("a.txt", "tariff")
    library.urls("tariff")
    with sqlite3.connect(library.index) as db:
        db.execute("UPDATE files SET title = 'as it was read'")
    db.close()
    assert library.search("tariff").hits[0].title == "as it was read"


def test_a_file_of_the_same_size_and_time_is_another(library: Library) -> None:
    """A file that takes another's place with its size and its time of writing, as copies do, is read."""
    path = library.write("a.txt", "tariff")
    before = path.stat()
    assert library.urls("quotas") == []
    path.write_text("quotas")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert library.urls("quotas") == ["file:a.txt"]


def test_a_look_without_end_is_made_in_parts(library: Library) -> None:
    """A look that takes too long ends with what it read, says what is missing, and the next search goes on with it."""
    for name in ("a.txt", "b.txt", "c.txt"):
        library.write(name, "tariff")
    provider = LocalFolderSearch(library.folder, library.index, lambda: 0.0, longest_look_s=0)
    answers = [provider.search(SearchQuery("tariff")) for _ in range(4)]
    provider.close()
    assert [len(answer.hits) for answer in answers] == [1, 2, 3, 3]
    assert [answer.left_out for answer in answers] == [
        ("2 files are new or changed and were not read yet; the next search goes on with them.",),
        ("1 files are new or changed and were not read yet; the next search goes on with them.",),
        (),
        (),
    ]


def test_a_folder_that_cannot_be_listed_is_named(library: Library) -> None:
    """A folder within whose documents cannot be seen is said to be left out: here its path is too long."""
    library.write("a.txt", "tariff")
    place = os.open(library.folder, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("x" * 250, dir_fd=place)
        below = os.open("x" * 250, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)
    found = library.search("tariff")
    assert [hit.url for hit in found.hits] == ["file:a.txt"]
    assert found.left_out[0].startswith("1 files could not be read: xxx")
    assert found.left_out[0].endswith("x/ (File name too long).")


def test_links_and_hidden_files_are_passed_over(library: Library, tmp_path: Path) -> None:
    """What a link points to, inside or outside, and what begins with a dot is not searched."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("tariff")
    (library.folder / "link.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (library.folder / "folder").symlink_to(tmp_path / "outside")
    (library.folder / "loop").symlink_to(library.folder)
    os.mkfifo(library.folder / "pipe.txt")
    library.write(".hidden.txt", "tariff")
    library.write(".git/x.txt", "tariff")
    library.write("program.exe", "tariff")
    assert library.urls("tariff") == []


def test_an_unreadable_file_is_named_with_its_reason(library: Library) -> None:
    """A file that cannot be read is said to be left out, and the others are searched; mended, it is read."""
    library.write("a.txt", "tariff")
    library.write("broken.pdf", "tariff")
    found = library.search("tariff")
    assert [hit.url for hit in found.hits] == ["file:a.txt"]
    assert found.left_out == ("1 files could not be read: broken.pdf (not a readable .pdf file (PdfStreamError)).",)
    (library.folder / "broken.pdf").rename(library.folder / "mended.txt")
    assert len(library.urls("tariff")) == 2


def test_a_name_of_any_bytes_is_a_name(library: Library) -> None:
    """A file name that is no text, or holds control characters, is searched and spelt out in its address."""
    with open(os.path.join(os.fsencode(library.folder), b"\xff\n%.txt"), "wb") as stream:
        stream.write(b"tariff")
    assert library.urls("tariff") == ["file:%FF%0A%25.txt"]


@given(st.binary(min_size=1, max_size=30))
def test_an_address_leads_back_to_its_file(path: bytes) -> None:
    """Unquoted, the address is the path in the folder."""
    assert unquote_to_bytes(file_url(path).removeprefix("file:").encode()) == path


def test_an_index_that_cannot_be_written_says_so(library: Library) -> None:
    """An index in a place that is no folder is reported with that place."""
    library.index.parent.parent.write_text("a file")
    with pytest.raises(ProviderDown, match="may you write"):
        library.search("x")


def test_a_full_disk_says_so(library: Library) -> None:
    """An index that finds no room is reported with the cause, and goes on when there is room."""
    for number in range(50):
        library.write(f"{number}.txt", " ".join(f"tariff{number}word{word}" for word in range(2000)))
    room, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, room[1]))
        with pytest.raises(ProviderDown, match=r"(full|disk I/O error)[^$]*is there room"):
            library.search("tariff7word1")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, room)
        signal.signal(signal.SIGXFSZ, handler)
    assert library.urls("tariff7word1") == ["file:7.txt"]


def overwrite(index: Path) -> None:
    index.write_bytes(b"not a database" * 1000)


def other_version(index: Path) -> None:
    with sqlite3.connect(index) as db:
        db.execute("PRAGMA user_version = 999")
    db.close()


def drop_tables(index: Path) -> None:
    with sqlite3.connect(index) as db:
        db.execute("DROP TABLE texts")
    db.close()


def tear(index: Path) -> None:
    """Half of its pages are other bytes, its first is whole."""
    with index.open("r+b") as stream:
        stream.seek(4096 * 2)
        stream.write(b"\xa5" * (index.stat().st_size - 4096 * 2))


@pytest.mark.parametrize("damage", [overwrite, other_version, drop_tables, tear, Path.unlink])
def test_a_damaged_index_is_made_anew(shelves: Library, damage: Callable[[Path], None]) -> None:
    """An index that is garbage, of another version, incomplete, torn or gone is rebuilt without a word."""
    shelves.urls("gas")
    shelves.provider.close()
    damage(shelves.index)
    assert sorted(shelves.urls("gas")) == ["file:eia.gov/prices.md", "file:notes.txt"]


def update(folder: Path, index: Path) -> None:
    FolderIndex(folder, index).update()


def test_what_was_read_before_a_kill_is_kept(library: Library) -> None:
    """A process that is killed while it builds the index leaves one that the next search goes on with."""
    for number in range(3000):
        library.write(f"{number}.txt", f"tariff number{number}")
    worker = multiprocessing.get_context("spawn").Process(target=update, args=(library.folder, library.index))
    worker.start()
    while not indexed(library.index):
        assert worker.is_alive()
    os.kill(worker.pid or 0, signal.SIGKILL)
    worker.join()
    assert 0 < indexed(library.index) < 3000
    assert len(library.urls("tariff", top_k=100)) == 100
    assert indexed(library.index) == 3000


def indexed(index: Path) -> int:
    """How many documents another process has brought in so far."""
    if not index.exists():
        return 0
    with closing(sqlite3.connect(index)) as db:
        try:
            return int(db.execute("SELECT count(*) FROM files").fetchone()[0])
        except sqlite3.OperationalError:
            return 0  # no tables yet


def update_in_process(folder: Path, index: Path, barrier: object) -> None:
    barrier.wait()  # type: ignore[attr-defined]
    FolderIndex(folder, index).update()


def test_several_processes_share_an_index(library: Library) -> None:
    """Processes that build the same index at once leave each document in it once."""
    for number in range(60):
        library.write(f"{number}.txt", f"tariff number{number}")
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    workers = [
        context.Process(target=update_in_process, args=(library.folder, library.index, barrier)) for _ in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len(library.urls("tariff", top_k=100)) == 60
