"""A full-text index of a folder, kept up with its files by several processes at once."""

import fcntl
import os
import sqlite3
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import astuple
from pathlib import Path

from three_tools.search.document_reader import DocumentReader
from three_tools.search.domains import as_compared
from three_tools.search.folder_files import SeenFile, file_url, read_file, walk
from three_tools.search.hygiene import host_of
from three_tools.search.packed_text import UnreadableFile
from three_tools.search.words import TOKENIZER, unparted

VERSION = 2
LONGEST_UPDATE_S = 120.0
_BATCH = 500
_BATCH_S = 2.0
_BUSY_S = 60.0
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_SCHEMA = f"""
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path BLOB UNIQUE NOT NULL, size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
    title TEXT NOT NULL, url TEXT NOT NULL, host TEXT NOT NULL, top TEXT NOT NULL, published_at TEXT, problem TEXT
);
CREATE INDEX problems ON files (problem) WHERE problem IS NOT NULL;
CREATE VIRTUAL TABLE texts USING fts5(title, text, unparted, tokenize = '{TOKENIZER}');
CREATE VIRTUAL TABLE words USING fts5vocab(texts, 'row');
PRAGMA user_version = {VERSION};
"""

_FILLER = "\ue000 "
"""A word that no query can hold. Beside each document stands a row with as many of it as the document has words: FTS5
gives no weight to a word in more than half of the rows, and documents asked for by common words would all be alike."""
_KNOWN = "SELECT id, path, size, mtime_ns, ctime_ns FROM files"
_ADD = """
INSERT INTO files (path, size, mtime_ns, ctime_ns, title, url, host, top, published_at, problem)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
"""


class _NotOurs(sqlite3.DatabaseError):
    """A database with other tables than ours."""


class FolderIndex:
    """Keeps an index file up with a folder: new, changed and removed files, by path, size and times.

    One process updates at a time, behind a lock beside the index, and for about two minutes at most: what was read
    is kept, and the next update goes on. A damaged index, or one of another version, is made anew. Files that
    cannot be read are noted with the reason.
    """

    def __init__(self, folder: Path, index: Path, longest_s: float = LONGEST_UPDATE_S) -> None:
        self._folder = folder
        self._index = index
        self._longest_s = longest_s

    def open(self) -> sqlite3.Connection:
        """A connection to the index as it is."""
        connection = sqlite3.connect(self._index, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA mmap_size = 1073741824")
        return connection

    def update(self) -> int:
        """Bring the index up to what the folder holds now; gives how many files are still to be read."""
        with self._locked():
            try:
                return self._update()
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    raise
                self._discard()
                return self._update()

    def rebuild(self) -> int:
        """Make the index anew, whatever it looks like."""
        with self._locked():
            self._discard()
            return self._update()

    def _discard(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self._index}{suffix}").unlink(missing_ok=True)

    def _update(self) -> int:
        with closing(self.open()) as db, closing(DocumentReader()) as reader:
            _make_ready(db)
            known = {path: (id_, SeenFile(*seen)) for id_, path, *seen in db.execute(_KNOWN)}
            seen = dict(walk(self._folder))
            gone = [path for path in known if path not in seen]
            stale = sorted(path for path, file in seen.items() if path not in known or known[path][1] != file)
            with _transaction(db):
                _forget(db, [known[path][0] for path in gone])
            end, done = time.monotonic() + self._longest_s, 0
            while done < len(stale) and (not done or time.monotonic() < end):
                with _transaction(db):
                    for path in _until(min(end, time.monotonic() + _BATCH_S), stale[done : done + _BATCH]):
                        _forget(db, [known[path][0]] if path in known else [])
                        self._add(db, reader, path, seen[path])
                        done += 1
            if len(gone) + done > len(seen) / 4:
                # After a large change the index lies in many pieces, and searches take twice as long.
                db.execute("INSERT INTO texts (texts) VALUES ('optimize')")
            return len(stale) - done

    def _add(self, db: sqlite3.Connection, reader: DocumentReader, path: bytes, file: SeenFile) -> None:
        name = os.fsdecode(path)
        problem, title, text, url, date = None, "", "", None, None
        try:
            document = reader.read(name, read_file(self._folder, path, file))
            title, text, url, date = document.title, document.text, document.url, document.published_at
        except UnreadableFile as error:
            problem = str(error)
        top = as_compared(name.partition("/")[0]) if "/" in name else ""
        place = (title, url or file_url(path), host_of(url or ""), top.encode(errors="replace").decode())
        (id_,) = db.execute(_ADD, (path, *astuple(file), *place, date, problem)).fetchone()
        if problem is None:
            more = unparted(f"{title}\n{text}")
            filler = _FILLER * (len(text.split()) + len(more.split()))
            rows = [(id_, title, text, more), (-id_, "", filler, "")]
            db.executemany("INSERT INTO texts (rowid, title, text, unparted) VALUES (?, ?, ?, ?)", rows)

    @contextmanager
    def _locked(self) -> Generator[None]:
        """The kernel lets go of it if we die."""
        self._index.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(f"{self._index}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the index is to be made anew, rather than the disk full or the file busy."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in _DAMAGE or isinstance(error, _NotOurs) or str(error).startswith("no such")


def _make_ready(db: sqlite3.Connection) -> None:
    """Make the tables in a new file; raise when it is not new and not of this version."""
    if db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
        return
    if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise _NotOurs("an index of another version")
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript(_SCHEMA)


def _forget(db: sqlite3.Connection, ids: list[int]) -> None:
    db.executemany("DELETE FROM texts WHERE rowid = ?", [(row,) for id_ in ids for row in (id_, -id_)])
    db.executemany("DELETE FROM files WHERE id = ?", [(id_,) for id_ in ids])


@contextmanager
def _transaction(db: sqlite3.Connection) -> Generator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:  # a full disk has rolled it back already
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _until(end: float, paths: list[bytes]) -> Iterator[bytes]:
    """One path at least, and more while there is time: few enough that not much is lost when the process ends."""
    for number, path in enumerate(paths):
        if number and time.monotonic() >= end:
            return
        yield path
