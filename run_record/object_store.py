"""Bytes named by their sha256, shared by all runs, written once and verified when read."""

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from run_record.durable import make_directory, sync_directory, write_all
from run_record.errors import DamagedRecord, MachineRefused
from run_record.hashed_copy import copy_hashed, hash_file
from run_record.ids import Sha256
from run_record.incoming import Draft, Incoming


class ObjectStore:
    """Keeps bytes under their hash and gives them back only if they still have it.

    An object is on disk, name and all, before `put` returns. It is never linked into a workspace:
    a cell owns its workspace, and a shared inode would let it change what was hashed.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._incoming = Incoming(root / "incoming")
        self._durable_folders: set[Path] = set()

    @classmethod
    def create(cls, root: Path) -> "ObjectStore":
        """The store at `root`, made if it is not there; only its owner may look inside."""
        make_directory(root, 0o700)
        make_directory(root / "incoming", 0o700)
        return cls(root)

    def put(self, source: int) -> tuple[int, Sha256]:
        """Copy an open file into the store: the copy is what is hashed and kept."""
        try:
            with self._incoming.draft() as draft:
                size, sha256 = copy_hashed(source, draft.fd)
                self._keep(draft, size, sha256)
        except OSError as error:
            raise MachineRefused.because(f"an object could not be stored in {self._root}", error) from error
        return size, sha256

    def have(self, content: bytes) -> Sha256:
        """See that these bytes are here, and name them."""
        sha256 = Sha256(hashlib.sha256(content).hexdigest())
        if not self._is_whole(sha256, len(content)):
            try:
                with self._incoming.draft() as draft:
                    write_all(draft.fd, content)
                    self._keep(draft, len(content), sha256)
            except OSError as error:
                raise MachineRefused.because(f"an object could not be stored in {self._root}", error) from error
        return sha256

    def _keep(self, draft: Draft, size: int, sha256: Sha256) -> None:
        target = self.path(sha256)
        if not self._is_whole(sha256, size):
            os.fchmod(draft.fd, 0o444)
            os.fsync(draft.fd)
            self._make_folder(target.parent)
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)  # nothing of ours: it would stand in the way for ever
            os.rename(draft.path, target)
        # Also when it was there before: whoever put it may not have got this far.
        sync_directory(target.parent)

    def _make_folder(self, folder: Path) -> None:
        if folder not in self._durable_folders or not folder.is_dir():  # somebody may have emptied the store
            folder.mkdir(0o700, exist_ok=True)
            # Also when it was there: whoever made it may have been killed before this.
            sync_directory(self._root)
            self._durable_folders.add(folder)

    def copy_to(self, sha256: Sha256, target: int) -> int:
        """Copy an object into an empty file and give its size; DamagedRecord if it is not what it was."""
        source = self._open(sha256)
        try:
            size, found = copy_hashed(source, target)
        finally:
            os.close(source)
        self._require(sha256, found)
        return size

    def check(self, sha256: Sha256) -> int:
        """The object's size, after reading all of it and comparing its hash."""
        source = self._open(sha256)
        try:
            size, found = hash_file(source)
        finally:
            os.close(source)
        self._require(sha256, found)
        return size

    def read(self, sha256: Sha256) -> bytes:
        """All bytes of an object, verified: for small ones; `copy_to` takes any."""
        with os.fdopen(self._open(sha256), "rb") as file:
            data = file.read()
        self._require(sha256, Sha256(hashlib.sha256(data).hexdigest()))
        return data

    def path(self, sha256: Sha256) -> Path:
        """Where an object lies, or would; whoever reads it there reads it unverified."""
        if not re.fullmatch(r"[0-9a-f]{64}", sha256):
            raise DamagedRecord(f"'{sha256}' is no sha256", "the record names an object that cannot exist")
        return self._root / sha256[:2] / sha256[2:]

    def sizes(self) -> Iterator[int]:
        """The size of each object."""
        for folder in self._root.glob("??"):
            with os.scandir(folder) as entries:
                yield from (entry.stat().st_size for entry in entries)

    def _is_whole(self, sha256: Sha256, size: int) -> bool:
        path = self.path(sha256)
        if not path.exists() or path.stat().st_size != size:
            return False
        try:
            self.check(sha256)
        except DamagedRecord:
            return False
        return True

    def _open(self, sha256: Sha256) -> int:
        try:  # O_NONBLOCK: opening a fifo must not wait for its other end
            fd = os.open(self.path(sha256), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise DamagedRecord(f"object {sha256} cannot be read: {error.strerror}", _HOW_TO_MEND) from None
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise DamagedRecord(f"object {sha256} cannot be read: it is no plain file", _HOW_TO_MEND)
        return fd

    def _require(self, sha256: Sha256, found: Sha256) -> None:
        if found != sha256:
            raise DamagedRecord(f"object {sha256} is damaged: its bytes now have sha256 {found}", _HOW_TO_MEND)


_HOW_TO_MEND = "write the same bytes again (`partner files write`), or restore objects/ from a backup"
