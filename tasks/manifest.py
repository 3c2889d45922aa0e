"""The read sets seen so far of one step, each with the key under which its result is kept."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from pydantic import Field, ValidationError

from run_record import Frozen, Sha256
from run_record.durable import locked
from tasks.plain_file import open_lock, read_plain, remove
from tasks.read_set import Files, ReadSet

_MOST = 40


class Entry(Frozen):
    """One way the run's files were, and what came of it."""

    key: Sha256 = Field(description="The key its result is kept under.", pattern="^[0-9a-f]{64}$")
    reads: ReadSet = Field(description="What the step found.")


class _Page(Frozen):
    entries: tuple[Entry, ...]


class Manifests:
    """One small file for each basis, newest entry first; several processes may write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, basis: Sha256, files: Files) -> Sha256 | None:
        """The key of a result that was had when the files were, as far as they count, as they are now."""
        return next((entry.key for entry in self._read(basis) if entry.reads.holds(files)), None)

    def add(self, basis: Sha256, entry: Entry) -> None:
        """Remember a way the files were; the one that was seen longest ago is forgotten when there are many."""
        with self._locked(basis):
            others = tuple(each for each in self._read(basis) if (each.key, each.reads) != (entry.key, entry.reads))
            self._write(basis, (entry, *others)[:_MOST])

    def forget(self, basis: Sha256, key: Sha256) -> None:
        """No entry leads to that key any more."""
        with self._locked(basis):
            known = self._read(basis)
            left = tuple(each for each in known if each.key != key)
            if left != known:
                self._write(basis, left)

    def _read(self, basis: Sha256) -> tuple[Entry, ...]:
        """A manifest that cannot be read knows nothing: then the step is run."""
        try:
            return _Page.model_validate_json(read_plain(self._path(basis))).entries
        except (OSError, ValidationError):
            return ()

    def _write(self, basis: Sha256, entries: tuple[Entry, ...]) -> None:
        """Without waiting for the disk, as Prefect keeps the results: after a power cut, a step may be run again."""
        path = self._path(basis)
        temporary = path.with_suffix(".new")
        remove(temporary)
        temporary.write_text(_Page(entries=entries).model_dump_json())
        if path.is_dir():
            remove(path)
        temporary.rename(path)

    @contextmanager
    def _locked(self, basis: Sha256) -> Generator[None]:
        fd = open_lock(self._path(basis).with_suffix(".lock"))
        try:
            with locked(fd):
                yield
        finally:
            os.close(fd)

    def _path(self, basis: Sha256) -> Path:
        return self._folder / basis[:2] / f"{basis[2:]}.json"
